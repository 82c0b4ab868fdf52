// SPDX-License-Identifier: Apache-2.0
// Several copies of the library in one process: the one that this program links, the same file at
// another path, and one with another SONAME. Tensors of one copy are foreign to the others.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

// Instrumented code makes no tail calls and needs more stack.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLBRIDGE_TEST_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define DLBRIDGE_TEST_INSTRUMENTED 1
#endif
#endif

namespace dlbridge_test {
namespace {

void* Load(const std::string& path, const char* symbol) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle == nullptr ? nullptr : dlsym(handle, symbol);
}

const DLBridgeApi* ApiOf(const std::string& path) {
  using GetApi = const DLBridgeApi* (*)(uint32_t, size_t);
  const auto get_api = reinterpret_cast<GetApi>(Load(path, "dlbridge_get_api"));
  return get_api == nullptr ? nullptr : get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
}

// Copied once, since a loaded file must not be written to.
std::string CopyElsewhere() {
  const std::filesystem::path folder = std::filesystem::path(COPY).replace_filename("elsewhere");
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / std::filesystem::path(LIBRARY).filename();
  std::filesystem::remove(file);
  std::filesystem::copy_file(LIBRARY, file);
  return file;
}
const std::string& SameFileElsewhere() {
  static const std::string file = CopyElsewhere();
  return file;
}

class TwoCopies : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    path_ = GetParam() ? SameFileElsewhere() : COPY;
    other_ = ApiOf(path_);
    ASSERT_NE(other_, nullptr);
    ASSERT_NE(other_, ours_);
  }

  DLManagedTensorVersioned* OtherUpgrade(DLManagedTensor* source) const {
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(other_->upgrade(source, nullptr, &out, nullptr), DLBRIDGE_OK);
    return out;
  }
  DLManagedTensorVersioned* OtherImport(DLManagedTensorVersioned* source) const {
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(other_->import_tensor(source, DLBRIDGE_KIND_VERSIONED, nullptr, &out, nullptr),
              DLBRIDGE_OK);
    return out;
  }
  DLManagedTensorVersioned* OtherShare(const DLManagedTensorVersioned* tensor) const {
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(other_->share(tensor, &out, nullptr), DLBRIDGE_OK);
    return out;
  }

  std::string path_;
  const DLBridgeApi* ours_ = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  const DLBridgeApi* other_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Of, TwoCopies, testing::Bool(), [](const auto& info) {
  return info.param ? "AnotherPath" : "AnotherSoname";
});

// A table with functions of the copy that was loaded first would mix two versions of the library.
TEST_P(TwoCopies, EachTableLeadsIntoItsOwnFile) {
  const auto* table = reinterpret_cast<const unsigned char*>(other_);
  for (size_t offset = offsetof(DLBridgeApi, version); offset < sizeof(DLBridgeApi);
       offset += sizeof(void*)) {
    void* function = nullptr;
    std::memcpy(&function, table + offset, sizeof function);
    Dl_info info = {};
    ASSERT_NE(dladdr(function, &info), 0);
    EXPECT_TRUE(std::filesystem::equivalent(info.dli_fname, path_))
        << info.dli_sname << " lies in " << info.dli_fname;
  }
}

TEST_P(TwoCopies, TensorsOfTheOtherAreForeign) {
  LegacySource source;
  DLManagedTensorVersioned* tensor = OtherUpgrade(source.get());
  EXPECT_EQ(dlbridge_identify(tensor), DLBRIDGE_KIND_VERSIONED);
  EXPECT_EQ(dlbridge_validate_versioned(tensor, nullptr, nullptr), DLBRIDGE_OK);

  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_share(tensor, &out, &error), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_TRUE(error.Says("dlbridge_import")) << error.message;
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  EXPECT_EQ(dlbridge_view(tensor, &spec, &out, &error), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_EQ(out, nullptr);
  dlbridge_release_versioned(tensor);
}

TEST_P(TwoCopies, EitherImportsTensorsOfTheOther) {
  LegacySource source;
  DLManagedTensorVersioned* theirs = OtherUpgrade(source.get());
  DLManagedTensorVersioned* mine = MustAdopt(theirs);
  EXPECT_NE(mine, theirs);
  EXPECT_EQ(mine->flags, kReadOnly);
  DLManagedTensorVersioned* share = MustShare(mine);
  DLManagedTensorVersioned* back = OtherImport(mine);
  EXPECT_NE(back, mine);
  DLManagedTensorVersioned* their_share = OtherShare(back);

  dlbridge_release_versioned(back);
  EXPECT_EQ(source.deletions(), 0);
  dlbridge_release_versioned(share);
  EXPECT_EQ(source.deletions(), 0);
  other_->release_versioned(their_share);
}

// READ_ONLY is not lost in a legacy tensor, since neither copy trusts a tensor of the other.
TEST_P(TwoCopies, RoundTripThroughBothKeepsReadOnly) {
  TensorSpec spec;
  spec.flags = kReadOnly;
  VersionedSource source(spec);
  DLBridgeConvertOptions drop = Options(DLBRIDGE_CONVERT_DROP_READ_ONLY);
  DLManagedTensor* legacy = nullptr;
  ASSERT_EQ(other_->downgrade(source.get(), &drop, &legacy, nullptr), DLBRIDGE_OK);
  DLManagedTensorVersioned* tensor = MustUpgrade(legacy);
  EXPECT_NE(tensor, source.get());
  EXPECT_EQ(tensor->flags, kReadOnly);
  EXPECT_EQ(tensor->dl_tensor.data, source.tensor()->data);
  dlbridge_release_versioned(tensor);
}

TEST_P(TwoCopies, EitherReleasesTensorsOfTheOther) {
  LegacySource first;
  other_->release_versioned(MustUpgrade(first.get()));
  EXPECT_EQ(first.deletions(), 1);
  LegacySource second;
  dlbridge_release_versioned(OtherUpgrade(second.get()));
  EXPECT_EQ(second.deletions(), 1);
}

TEST_P(TwoCopies, TheOtherCanBePinned) {
  LegacySource source;
  DLManagedTensorVersioned* theirs = OtherUpgrade(source.get());
  dlbridge_release_versioned(MustAdopt(theirs, DLBRIDGE_CONVERT_PIN_PRODUCER));
}

// Runs `part` on a thread with a stack of 64 KiB, or the system's minimum.
template <class Part>
void OnSmallStack(Part part) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  const size_t least = static_cast<size_t>(std::max(sysconf(_SC_THREAD_STACK_MIN), 64L << 10));
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, least), 0);
  pthread_t thread = {};
  const auto run = [](void* given) -> void* {
    (*static_cast<Part*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &part), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

// Two consumers with different copies pass one tensor to each other many times. The last release
// must not recurse once per import; the optimiser's tail call prevents that.
TEST_P(TwoCopies, AChainOfImportsEndsOnASmallStack) {
#ifdef DLBRIDGE_TEST_INSTRUMENTED
  const int imports = 100;
#else
  const int imports = 100000;
#endif
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  for (int i = 0; i < imports; ++i) {
    tensor = i % 2 == 0 ? OtherImport(tensor) : MustAdopt(tensor);
    ASSERT_NE(tensor, nullptr);
  }
  EXPECT_EQ(source.deletions(), 0);
  OnSmallStack([tensor] { tensor->deleter(tensor); });
  EXPECT_EQ(source.deletions(), 1);
}

TEST_P(TwoCopies, OwnTensorsAreForeignToTheOther) {
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  EXPECT_EQ(other_->share(tensor, &out, nullptr), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_EQ(other_->view(tensor, &spec, &out, nullptr), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_EQ(out, nullptr);
  other_->release_versioned(tensor);
}

}  // namespace
}  // namespace dlbridge_test
