// SPDX-License-Identifier: Apache-2.0
// Every error message states what was expected, what was found, and a remedy that the called
// function offers. One table covers the rules, one the rejected arguments. Both tests fail if a
// rule or an argument in the sources has no row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/ipc.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// ------------------------------------------------------------------------------ every message

// Words that the project's language rules exclude.
const char* const kExcludedWords[] = {"told", "nobody", "somebody", "anybody", "whoever", "behind"};

std::vector<std::string> WordsOf(const std::string& text) {
  const std::regex word("[A-Za-z]+");
  std::vector<std::string> words;
  for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i) {
    words.push_back(i->str());
  }
  return words;
}

void ExpectPlainWords(const std::string& text) {
  const std::vector<std::string> words = WordsOf(text);
  for (const char* excluded : kExcludedWords) {
    EXPECT_EQ(std::count(words.begin(), words.end(), excluded), 0) << excluded << ": " << text;
  }
}

// Not truncated, NUL-terminated, and with every other field written.
void ExpectWellFormed(const Error& error) {
  const size_t length = strnlen(error.message, sizeof error.message);
  ASSERT_LT(length, sizeof error.message) << "no NUL";
  EXPECT_LT(length, sizeof error.message - 1) << "cut: " << error.message;
  EXPECT_GT(length, 0U);
  EXPECT_EQ(error.reserved[0], 0U);
  EXPECT_EQ(error.reserved[1], 0U);
  ExpectPlainWords(error.message);
}

using Call = DLBridgeStatus (*)(Error* error);

// -------------------------------------------------------------------------------------- rules

TensorSpec SpecOf(DLDataType dtype, DLDevice device = Device(kDLCPU)) {
  TensorSpec spec;
  spec.dtype = dtype;
  spec.device = device;
  return spec;
}

DLBridgeStatus Validate(const TensorSpec& spec, Error* error,
                        const DLBridgePolicy& policy = Policy()) {
  VersionedSource source(spec);
  const DLBridgeStatus status = dlbridge_validate_versioned(source.get(), &policy, error);
  source.Release();
  return status;
}

DLBridgeStatus Downgrade(const TensorSpec& spec, Error* error,
                         const DLBridgeConvertOptions& options = Options()) {
  VersionedSource source(spec);
  DLManagedTensor* out = nullptr;
  const DLBridgeStatus status = dlbridge_downgrade(source.get(), &options, &out, error);
  EXPECT_NE(status, DLBRIDGE_OK);
  source.Release();
  return status;
}

DLBridgeStatus Upgrade(const TensorSpec& spec, Error* error,
                       const DLBridgeConvertOptions& options) {
  LegacySource source(spec);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_upgrade(source.get(), &options, &out, error);
  EXPECT_NE(status, DLBRIDGE_OK);
  source.Release();
  return status;
}

DLBridgeStatus Import(const TensorSpec& spec, Error* error, const DLBridgeConvertOptions& options) {
  VersionedSource source(spec);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status =
      dlbridge_import(source.get(), DLBRIDGE_KIND_VERSIONED, &options, &out, error);
  EXPECT_NE(status, DLBRIDGE_OK);
  source.Release();
  return status;
}

DLBridgeStatus View(const TensorSpec& spec, const DLBridgeViewSpec& view, Error* error) {
  VersionedSource source(spec);
  DLManagedTensorVersioned* tensor = MustAdopt(source.get());
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_view(tensor, &view, &out, error);
  EXPECT_NE(status, DLBRIDGE_OK);
  dlbridge_release_versioned(tensor);
  return status;
}

DLBridgeStatus ShareFromStorage(Error* error) {
  alignas(16) static char memory[512];
  LegacySource source;
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  DLManagedTensorVersioned* tensor = nullptr;
  EXPECT_EQ(dlbridge_upgrade_into(source.get(), nullptr, &storage, &tensor, nullptr), DLBRIDGE_OK);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_share(tensor, &out, error);
  dlbridge_release_versioned(tensor);
  return status;
}

// Policies with a list of devices or dtypes.
template <size_t kCount>
DLBridgePolicy Listing(const DLDevice (&devices)[kCount]) {
  DLBridgePolicy policy = Policy();
  policy.devices = devices;
  policy.device_count = kCount;
  return policy;
}
template <size_t kCount>
DLBridgePolicy Listing(const DLDataType (&dtypes)[kCount]) {
  DLBridgePolicy policy = Policy();
  policy.dtypes = dtypes;
  policy.dtype_count = kCount;
  return policy;
}

struct RuleCase {
  DLBridgeRule rule;
  const char* expected;
  const char* found;
  const char* remedy;
  Call call;
  int32_t axis = -1;
};

constexpr const char* kProducer = "correct it in the producer, or in the call's spec";
constexpr const char* kCompact = "make a compact copy with dlbridge_copy";

const RuleCase kRuleCases[] = {
    {DLBRIDGE_RULE_VERSION_MAJOR, "DLPack major 1", "major 2",
     "call its deleter and read nothing else",
     [](Error* error) {
       TensorSpec spec;
       spec.version = {2, 0};
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_NDIM_NEGATIVE, "at least 0", "-3", kProducer,
     [](Error* error) {
       TensorSpec spec;
       spec.ndim = -3;
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_NDIM_LIMIT, "at most 64", "65",
     "reshape it, or change the limits of the policy; dlbridge itself supports 0 to 64 axes",
     [](Error* error) {
       TensorSpec spec;
       spec.ndim = 65;
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_NDIM_LIMIT, "3 to 4", "2",
     "reshape it, or change the limits of the policy; dlbridge itself supports 0 to 64 axes",
     [](Error* error) {
       DLBridgePolicy policy = Policy();
       LimitNdim(&policy, 4, 3);
       return Validate(TensorSpec(), error, policy);
     }},
    {DLBRIDGE_RULE_NDIM_LIMIT, "exactly 1", "2",
     "reshape it, or change the limits of the policy; dlbridge itself supports 0 to 64 axes",
     [](Error* error) {
       DLBridgePolicy policy = Policy();
       LimitNdim(&policy, 1, 1);
       return Validate(TensorSpec(), error, policy);
     }},
    {DLBRIDGE_RULE_SHAPE_NULL, "2 extents", "NULL", kProducer,
     [](Error* error) {
       TensorSpec spec;
       spec.null_shape = true;
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_STRIDES_NULL, "2 strides", "NULL",
     "set them in the producer, or set DLBRIDGE_POLICY_ALLOW_NULL_STRIDES in the policy",
     [](Error* error) {
       TensorSpec spec;
       spec.null_strides = true;
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_DTYPE_BITS_ZERO, "at least 1", "0", kProducer,
     [](Error* error) { return Validate(SpecOf(Dtype(kDLFloat, 0)), error); }},
    {DLBRIDGE_RULE_DTYPE_LANES_ZERO, "at least 1", "0", kProducer,
     [](Error* error) { return Validate(SpecOf(Dtype(kDLFloat, 32, 0)), error); }},
    {DLBRIDGE_RULE_DTYPE_LANES_SCALABLE, "at most 32767 lanes", "32768",
     "convert it to a dtype of known size; policies can set "
     "DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES",
     [](Error* error) { return Validate(SpecOf(Dtype(kDLFloat, 32, 32768)), error); }},
    {DLBRIDGE_RULE_DTYPE_BITS_FIXED, "8 bits", "dtype(6,1,1)", kProducer,
     [](Error* error) { return Validate(SpecOf(Dtype(kDLBool, 1)), error); }},
    {DLBRIDGE_RULE_DTYPE_UNKNOWN, "a code of DLPack 1.3", "code 99",
     "convert it to a known dtype; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies "
     "clear DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE",
     [](Error* error) {
       return Validate(SpecOf(Dtype(99, 32)), error, Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE));
     }},
    {DLBRIDGE_RULE_DEVICE_UNKNOWN, "a type of DLPack 1.3", "type 99",
     "move it to a known device; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies "
     "clear DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE",
     [](Error* error) {
       return Validate(SpecOf(Dtype(kDLFloat, 32), Device(99)), error,
                       Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE));
     }},
    {DLBRIDGE_RULE_FLAGS_UNKNOWN, "flags within 0x7", "0xffffffffffffff00",
     "clear the bit; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear "
     "DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS",
     [](Error* error) {
       TensorSpec spec;
       spec.flags = ~uint64_t{0xff};
       return Validate(spec, error, Policy(DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS));
     }},
    {DLBRIDGE_RULE_DEVICE_ID_NEGATIVE, "at least 0", "-2", kProducer,
     [](Error* error) { return Validate(SpecOf(Dtype(kDLFloat, 32), Device(kDLCPU, -2)), error); }},
    {DLBRIDGE_RULE_EXTENT_NEGATIVE, "at least 0", "-3", kProducer,
     [](Error* error) {
       return Validate(TensorSpec({2, -3}, {3, 1}), error);
     },
     1},
    {DLBRIDGE_RULE_COUNT_OVERFLOW, "at most 9223372036854775807 elements", "a larger product",
     kProducer,
     [](Error* error) {
       return Validate(TensorSpec({int64_t{1} << 40, int64_t{1} << 40}), error);
     }},
    {DLBRIDGE_RULE_SIZE_OVERFLOW, "at most 9223372036854775807 bytes",
     "4611686018427387904 elements", kProducer,
     [](Error* error) { return Validate(TensorSpec(Axes({int64_t{1} << 62})), error); }},
    {DLBRIDGE_RULE_OFFSET_OVERFLOW, "offsets that fit 63 bits and a sign", "larger offsets",
     kProducer,
     [](Error* error) {
       return Validate(TensorSpec({2, 3}, {INT64_MAX, 1}), error);
     }},
    {DLBRIDGE_RULE_DATA_NULL, "memory of 6 elements", "NULL", kProducer,
     [](Error* error) {
       TensorSpec spec;
       spec.null_data = true;
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_ADDRESS_RANGE, "addresses that fit 64 bits",
     "byte_offset 18446744073709551615 with this data, shape and strides", kProducer,
     [](Error* error) {
       TensorSpec spec;
       spec.byte_offset = UINT64_MAX;
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_HANDLE_RANGE, "bytes from 0 on", "byte -12", kProducer,
     [](Error* error) {
       TensorSpec spec({2, 3}, {-3, 1});
       spec.device = Device(kDLOpenCL);
       return Validate(spec, error);
     }},
    {DLBRIDGE_RULE_BUFFER_BOUNDS, "bytes in [0, 20)", "byte 23",
     "correct the shape, the strides, the offset or buffer_size",
     [](Error* error) {
       DLBridgePolicy policy = Policy();
       LimitBuffer(&policy, 20);
       return Validate(TensorSpec(), error, policy);
     }},
    {DLBRIDGE_RULE_CONTIGUITY, "F order", "another layout",
     "copy it to that layout; dlbridge_copy makes C order",
     [](Error* error) {
       DLBridgePolicy policy = Policy();
       policy.contiguity = DLBRIDGE_CONTIGUITY_F;
       return Validate(TensorSpec(), error, policy);
     }},
    {DLBRIDGE_RULE_ALIGNMENT, "a multiple of 64 bytes", "a multiple of 4",
     "copy it to aligned memory; dlbridge_copy aligns to 256 bytes",
     [](Error* error) {
       TensorSpec spec;
       spec.start = 4;
       DLBridgePolicy policy = Policy();
       policy.alignment = 64;
       return Validate(spec, error, policy);
     }},
    {DLBRIDGE_RULE_DEVICE_REJECTED, "cuda, rocm:1 or cuda_managed:0", "cpu:0",
     "copy it to a listed device with dlbridge_copy",
     [](Error* error) {
       const DLDevice devices[] = {Device(kDLCUDA, -1), Device(kDLROCM, 1), Device(kDLCUDAManaged)};
       return Validate(TensorSpec(), error, Listing(devices));
     }},
    {DLBRIDGE_RULE_DEVICE_REJECTED, "cuda:1, cuda:2, cuda:3, cuda:4, cuda:5, cuda:6 or 2 more",
     "cuda:0", "copy it to a listed device with dlbridge_copy",
     [](Error* error) {
       DLDevice devices[8];
       for (int32_t i = 0; i < 8; ++i) {
         devices[i] = Device(kDLCUDA, i + 1);
       }
       return Validate(SpecOf(Dtype(kDLFloat, 32), Device(kDLCUDA)), error, Listing(devices));
     }},
    // Long names: the list ends where the remedy would no longer fit.
    {DLBRIDGE_RULE_DEVICE_REJECTED, "cuda_managed:2147483647, cuda_managed:2147483647 or 98 more",
     "device(2147483647):2147483647", "copy it to a listed device with dlbridge_copy",
     [](Error* error) {
       DLDevice devices[100];
       std::fill(std::begin(devices), std::end(devices), Device(kDLCUDAManaged, INT32_MAX));
       return Validate(SpecOf(Dtype(kDLFloat, 32), Device(INT32_MAX, INT32_MAX)), error,
                       Listing(devices));
     }},
    {DLBRIDGE_RULE_DTYPE_REJECTED, "int8 or float16", "float32",
     "convert it to a listed dtype before the call",
     [](Error* error) {
       const DLDataType dtypes[] = {Dtype(kDLInt, 8), Dtype(kDLFloat, 16)};
       return Validate(TensorSpec(), error, Listing(dtypes));
     }},
    {DLBRIDGE_RULE_DTYPE_REJECTED,
     "dtype(255,255,32767), dtype(255,255,32767), dtype(255,255,32767) or 97 more",
     "dtype(254,255,32767)", "convert it to a listed dtype before the call",
     [](Error* error) {
       DLDataType dtypes[100];
       std::fill(std::begin(dtypes), std::end(dtypes), Dtype(255, 255, 32767));
       return Validate(SpecOf(Dtype(254, 255, 32767)), error, Listing(dtypes));
     }},
    {DLBRIDGE_RULE_NOT_WRITABLE, "a writable tensor", "READ_ONLY",
     "make a copy with dlbridge_copy; if writability is not recorded but you know it, set "
     "DLBRIDGE_POLICY_VOUCH_WRITABLE",
     [](Error* error) {
       TensorSpec spec;
       spec.flags = kReadOnly;
       return Validate(spec, error, Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE));
     }},
    {DLBRIDGE_RULE_NOT_WRITABLE, "a writable tensor", "no record of writability",
     "make a copy with dlbridge_copy; if writability is not recorded but you know it, set "
     "DLBRIDGE_POLICY_VOUCH_WRITABLE",
     [](Error* error) {
       LegacySource source;
       const DLBridgePolicy policy = Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
       const DLBridgeStatus status = dlbridge_validate_legacy(source.get(), &policy, error);
       source.Release();
       return status;
     }},
    {DLBRIDGE_RULE_NEGATIVE_STRIDE, "at least 0", "-3", kCompact,
     [](Error* error) {
       TensorSpec spec({2, 3}, {-3, 1});
       spec.start = 64;
       return Validate(spec, error, Policy(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES));
     },
     0},
    {DLBRIDGE_RULE_ZERO_STRIDE, "not 0 on an axis of extent 3", "0", kCompact,
     [](Error* error) {
       return Validate(TensorSpec({2, 3}, {1, 0}), error,
                       Policy(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES));
     },
     1},
    {DLBRIDGE_RULE_SELF_OVERLAP, "elements that do not overlap", "an overlap",
     "make a compact copy with dlbridge_copy, or set DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP",
     [](Error* error) {
       return Validate(TensorSpec({2, 3}, {1, 1}), error, Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE));
     }},
    {DLBRIDGE_RULE_REQUIRED_VERSION, "at most DLPack 1.0", "a tensor that needs 1.1",
     "request a newer version; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN",
     [](Error* error) {
       return Import(SpecOf(Dtype(kDLFloat8_e4m3fn, 8)), error, Options(0, {1, 0}));
     }},
    {DLBRIDGE_RULE_LEGACY_READ_ONLY, "a tensor without READ_ONLY", "READ_ONLY",
     "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_COPY or "
     "DLBRIDGE_CONVERT_DROP_READ_ONLY",
     [](Error* error) {
       TensorSpec spec;
       spec.flags = kReadOnly;
       return Downgrade(spec, error);
     }},
    {DLBRIDGE_RULE_LEGACY_PADDED, "packed elements", "padded uint4",
     "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_COPY or "
     "DLBRIDGE_CONVERT_DROP_PADDED",
     [](Error* error) {
       TensorSpec spec = SpecOf(Dtype(kDLUInt, 4));
       spec.flags = kPadded;
       return Downgrade(spec, error);
     }},
    {DLBRIDGE_RULE_LEGACY_DTYPE, "a code of DLPack 0.8", "float8_e4m3fn",
     "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_ALLOW_NEWER_CODES",
     [](Error* error) { return Downgrade(SpecOf(Dtype(kDLFloat8_e4m3fn, 8)), error); }},
    {DLBRIDGE_RULE_LEGACY_DEVICE, "a type of DLPack 0.8", "maia",
     "keep it versioned, or downgrade it with DLBRIDGE_CONVERT_ALLOW_NEWER_CODES",
     [](Error* error) { return Downgrade(SpecOf(Dtype(kDLFloat, 32), Device(kDLMAIA)), error); }},
    {DLBRIDGE_RULE_OFFSET_FOLD, "a device whose data is an address", "opencl",
     "clear DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET",
     [](Error* error) {
       return Upgrade(SpecOf(Dtype(kDLFloat, 32), Device(kDLOpenCL)), error,
                      Options(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET));
     }},
    {DLBRIDGE_RULE_VIEW_BOUNDS, "no element beyond 5", "element 6",
     "correct the shape, the strides or the offset of the spec",
     [](Error* error) {
       const int64_t shape[] = {2};
       DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
       view.ndim = 1;
       view.shape = shape;
       view.offset = 5;
       return View(TensorSpec(), view, error);
     }},
    {DLBRIDGE_RULE_VIEW_OFFSET, "a multiple of 8 bits", "bit 4", "correct the offset of the spec",
     [](Error* error) {
       DLBridgeViewSpec view = DLBRIDGE_VIEW_SPEC_INIT;
       view.offset = 1;
       return View(SpecOf(Dtype(kDLUInt, 4)), view, error);
     }},
    {DLBRIDGE_RULE_IN_STORAGE, "a tensor on the heap", "a tensor in storage",
     "call dlbridge_import first", ShareFromStorage},
    {DLBRIDGE_RULE_COPY_DEVICE, "memory that the host can read", "cuda",
     "copy it with dlbridge_copy",
     [](Error* error) {
       return Upgrade(SpecOf(Dtype(kDLFloat, 32), Device(kDLCUDA)), error,
                      Options(DLBRIDGE_CONVERT_COPY));
     }},
    {DLBRIDGE_RULE_SHAPE_MISMATCH, "4", "3", "reshape it, or correct the shape of the policy",
     [](Error* error) {
       const int64_t shape[] = {-1, 4};
       DLBridgePolicy policy = Policy();
       LimitNdim(&policy, 2, 2);
       policy.shape = shape;
       return Validate(TensorSpec(), error, policy);
     },
     1},
};

std::string AxisPrefix(int32_t axis) {
  return axis < 0 ? "" : "axis " + std::to_string(axis) + ": ";
}

TEST(RuleMessages, GiveExpectedFoundAndRemedy) {
  for (const RuleCase& each : kRuleCases) {
    SCOPED_TRACE(dlbridge_rule_name(each.rule));
    Error error;
    EXPECT_NE(each.call(&error), DLBRIDGE_OK);
    EXPECT_EQ(error.rule, each.rule);
    EXPECT_EQ(error.axis, each.axis);
    EXPECT_EQ(error.message, AxisPrefix(each.axis) + dlbridge_rule_text(each.rule) + ": expected " +
                                 each.expected + ", found " + each.found + "; " + each.remedy);
    ExpectWellFormed(error);
  }
}

// Rules that are only reported as notes.
struct NoteCase {
  DLBridgeRule rule;
  const char* expected;
  const char* found;
  TensorSpec (*spec)();
};

const NoteCase kNoteCases[] = {
    {DLBRIDGE_RULE_DEVICE_ID_HOST, "0", "3",
     [] { return SpecOf(Dtype(kDLFloat, 32), Device(kDLCPU, 3)); }},
    {DLBRIDGE_RULE_DATA_UNALIGNED, "a multiple of 4 bytes", "a multiple of 2",
     [] {
       TensorSpec spec;
       spec.start = 2;
       return spec;
     }},
    {DLBRIDGE_RULE_VERSION_LABEL, "DLPack 1.1", "1.0",
     [] {
       TensorSpec spec = SpecOf(Dtype(kDLFloat8_e4m3fn, 8));
       spec.version = {1, 0};
       return spec;
     }},
};

TEST(RuleMessages, NotesGiveExpectedAndFound) {
  for (const NoteCase& each : kNoteCases) {
    SCOPED_TRACE(dlbridge_rule_name(each.rule));
    VersionedSource source(each.spec());
    DLBridgeFinding finding;
    size_t count = 0;
    EXPECT_EQ(dlbridge_diagnose(source.get(), DLBRIDGE_KIND_VERSIONED, 0, nullptr, &finding, 1,
                                &count, nullptr),
              DLBRIDGE_OK);
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(finding.rule, each.rule);
    EXPECT_EQ(finding.severity, DLBRIDGE_SEVERITY_NOTE);
    EXPECT_STREQ(finding.expected, each.expected);
    EXPECT_STREQ(finding.found, each.found);
    source.Release();
  }
}

// Rules that only a driver can check, and the tests that break them.
struct DriverCase {
  DLBridgeRule rule;
  const char* name;
  const char* file;
};

const DriverCase kDriverCases[] = {
    {DLBRIDGE_RULE_DEVICE_LABEL, "DLBRIDGE_RULE_DEVICE_LABEL", "device/level_zero_pointer_test.cc"},
    {DLBRIDGE_RULE_DEVICE_LABEL, "DLBRIDGE_RULE_DEVICE_LABEL", "device/opencl_pointer_test.cc"},
    {DLBRIDGE_RULE_ALLOCATION_BOUNDS, "DLBRIDGE_RULE_ALLOCATION_BOUNDS",
     "device/level_zero_pointer_test.cc"},
    {DLBRIDGE_RULE_ALLOCATION_BOUNDS, "DLBRIDGE_RULE_ALLOCATION_BOUNDS",
     "device/opencl_pointer_test.cc"},
};

std::filesystem::path TestsFolder() {
  return std::filesystem::path(DLBRIDGE_CASES).parent_path().parent_path();
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(RuleMessages, RulesOfDriversAreTestedWithDrivers) {
  for (const DriverCase& each : kDriverCases) {
    EXPECT_NE(ReadText(TestsFolder() / each.file).find(each.name), std::string::npos)
        << each.name << " in " << each.file;
  }
}

TEST(RuleMessages, EveryRuleHasARow) {
  std::set<DLBridgeRule> tested;
  for (const RuleCase& each : kRuleCases) {
    tested.insert(each.rule);
  }
  for (const NoteCase& each : kNoteCases) {
    tested.insert(each.rule);
  }
  for (const DriverCase& each : kDriverCases) {
    tested.insert(each.rule);
  }
  DLBridgeRule rule = DLBRIDGE_RULE_NONE + 1;
  for (; std::strcmp(dlbridge_rule_name(rule), "UNKNOWN_RULE") != 0; ++rule) {
    EXPECT_EQ(tested.count(rule), 1U) << dlbridge_rule_name(rule);
    ExpectPlainWords(dlbridge_rule_text(rule));
  }
  EXPECT_EQ(static_cast<size_t>(rule) - 1, tested.size());
}

// ----------------------------------------------------------------------------------- arguments

// A versioned float32 tensor of {2, 3} that dlbridge owns, after `change`.
template <class Change>
DLBridgeStatus ShareChanged(Change change, Error* error) {
  VersionedSource source;
  DLManagedTensorVersioned* tensor = MustAdopt(source.get());
  DLManagedTensorVersioned* out = nullptr;
  change(tensor);
  const DLBridgeStatus status = dlbridge_share(tensor, &out, error);
  EXPECT_EQ(out, nullptr);
  dlbridge_release_versioned(tensor);
  return status;
}

template <class Change>
DLBridgeStatus WithPolicy(Change change, Error* error) {
  DLBridgePolicy policy = Policy();
  change(&policy);
  return Validate(TensorSpec(), error, policy);
}

template <class Change>
DLBridgeStatus WithOptions(Change change, Error* error) {
  DLBridgeConvertOptions options = Options();
  change(&options);
  return Upgrade(TensorSpec(), error, options);
}

DLBridgeStatus UpgradeMany(std::vector<DLManagedTensor*> sources, uint32_t options, Error* error) {
  const DLBridgeConvertOptions convert = Options(options);
  std::vector<DLManagedTensorVersioned*> outs(sources.size());
  return dlbridge_upgrade_many(sources.data(), sources.size(), &convert, outs.data(), nullptr,
                               error);
}

template <class Change>
DLBridgeStatus WithStorage(Change change, Error* error) {
  alignas(16) static char memory[512];
  LegacySource source;
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  change(&storage);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_upgrade_into(source.get(), nullptr, &storage, &out, error);
  EXPECT_EQ(out, nullptr);
  source.Release();
  return status;
}

template <class Change>
DLBridgeStatus WithViewSpec(Change change, Error* error) {
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  change(&spec);
  return View(TensorSpec(), spec, error);
}

template <class Change>
DLBridgeStatus WithAllocateSpec(Change change, Error* error) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = Dtype(kDLFloat, 32);
  change(&spec);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_allocate(&spec, &out, error);
  EXPECT_EQ(out, nullptr);
  return status;
}

void* TakeMemory(void* /*context*/, DLDevice /*device*/, uint64_t bytes, uint64_t /*alignment*/,
                 const DLBridgeStream* /*stream*/) {
  return ::operator new(bytes);
}
void GiveMemory(void* /*context*/, DLDevice /*device*/, void* memory, uint64_t /*bytes*/,
                uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
  ::operator delete(memory);
}
const DLBridgeAllocator kAllocator = {sizeof(DLBridgeAllocator), 0, nullptr, TakeMemory,
                                      GiveMemory};

DLBridgeStatus Export(DLBridgeKind kind, DLPackVersion target, DLPackVersion version,
                      Error* error) {
  VersionedSource source;
  const DLBridgeConvertOptions options = Options(0, version);
  void* out = nullptr;
  DLBridgeKind out_kind = 0;
  const DLBridgeStatus status =
      dlbridge_export(source.get(), kind, target, &options, &out, &out_kind, error);
  EXPECT_EQ(out, nullptr);
  source.Release();
  return status;
}

DLBridgeStatus ImportBytes(const void* bytes, Error* error) {
  DLManagedTensorVersioned* out = nullptr;
  return dlbridge_import(const_cast<void*>(bytes), DLBRIDGE_KIND_UNKNOWN, nullptr, &out, error);
}

char g_memory[64];

template <class Change>
DLBridgeStatus WithWrapSpec(Change change, Error* error) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.device = Device(kDLCPU);
  spec.dtype = Dtype(kDLFloat, 32);
  spec.buffer = dlbridge_buffer_address(g_memory);
  change(&spec);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_wrap(&spec, &out, error);
  EXPECT_EQ(out, nullptr);
  return status;
}

template <class Change>
DLBridgeStatus WithCopySpec(Change change, Error* error, DLDevice from = Device(kDLCPU)) {
  VersionedSource source(SpecOf(Dtype(kDLFloat, 32), from));
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  change(&spec);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_copy(source.tensor(), 0, &spec, &out, error);
  EXPECT_EQ(out, nullptr);
  source.Release();
  return status;
}
void SetTarget(DLBridgeCopySpec* spec, uint64_t size = sizeof g_memory) {
  spec->target = dlbridge_buffer_address(g_memory);
  spec->target_size = size;
}

DLBridgeStream Stream(DLBridgeBackend backend, int32_t kind, uint64_t handle) {
  return {backend, kind, Device(kDLCPU), handle, 0, 0};
}
DLBridgeStatus Handoff(const DLBridgeStream& producer, Error* error, uint32_t options = 0) {
  const DLBridgeStream consumer = Stream(DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_STREAM_QUEUE, 0x71);
  return dlbridge_stream_handoff(&producer, &consumer, options, error);
}
DLBridgeStatus FromArrayApi(DLDevice device, int64_t stream, Error* error) {
  DLBridgeStream out;
  return dlbridge_stream_from_array_api(device, stream, &out, error);
}

// A copy of a host tensor on a stream; `change` sets the stream.
template <class Change>
DLBridgeStatus CopyAsync(Change change, Error* error) {
  LegacySource source;
  DLManagedTensorVersioned* tensor = MustUpgrade(source.get());
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  change(&spec);
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_copy_async(tensor, &spec, &out, error);
  dlbridge_release_versioned(out);
  dlbridge_release_versioned(tensor);
  return status;
}

template <class Change>
DLBridgeStatus AskAbout(DLDevice device, Change change, Error* error) {
  DLBridgeBuffer buffer = dlbridge_buffer_address(g_memory);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  change(&buffer, &info);
  return dlbridge_pointer_info(&buffer, device, &info, error);
}

DLBridgeContextEntry OneApiEntry(int32_t id) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_OPENCL;
  entry.device = Device(kDLOneAPI, id);
  entry.native_device = 0x51;
  entry.context = 0xc1;
  return entry;
}
template <class Change>
DLBridgeStatus WithEntry(Change change, Error* error) {
  DLBridgeContextEntry entry = OneApiEntry(901);
  change(&entry);
  uint64_t id = 0;
  return dlbridge_context_register(&entry, &id, error);
}
// Runs with OneApiEntry(902) in the table.
template <class Use>
DLBridgeStatus WithRegistered(Use use) {
  const DLBridgeContextEntry entry = OneApiEntry(902);
  uint64_t id = 0;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  const DLBridgeStatus status = use();
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  return status;
}
DLBridgeStatus PastTheLastEntry(Error* error) {
  DLBridgeContextEntry entry;
  uint64_t cursor = 0;
  DLBridgeStatus status = DLBRIDGE_OK;
  while (status == DLBRIDGE_OK) {
    status = dlbridge_context_next(&cursor, &entry, error);
  }
  return status;
}

// A rejected argument: the beginning of the message, and a text that it also contains, or NULL. A
// beginning that ends with a space is followed by a number.
struct ArgumentCase {
  const char* begins;
  const char* has;
  Call call;
  DLBridgeStatus status = DLBRIDGE_ERROR_INVALID_ARGUMENT;
};

const ArgumentCase kStructCases[] = {
    {"policy->struct_size must be at least ", "found 8; set it to the sizeof of the struct",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->struct_size = 8; }, error);
     }},
    {"policy->struct_size must be at most 4096", "found 5000; set it to the sizeof of the struct",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->struct_size = 5000; }, error);
     }},
    {"policy has a setting in byte ", " bytes: update the library, or leave the setting zero",
     [](Error* error) {
       struct {
         DLBridgePolicy policy = Policy();
         uint64_t tail = 1;
       } grown;
       grown.policy.struct_size = sizeof grown;
       LegacySource source;
       const DLBridgeStatus status = dlbridge_validate_legacy(source.get(), &grown.policy, error);
       source.Release();
       return status;
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"options->struct_size must be at least ", "found 4",
     [](Error* error) {
       return WithOptions([](DLBridgeConvertOptions* options) { options->struct_size = 4; }, error);
     }},
    {"options.allocator->struct_size must be at least ", "found 4",
     [](Error* error) {
       return WithOptions(
           [](DLBridgeConvertOptions* options) {
             static const DLBridgeAllocator allocator = {4, 0, nullptr, TakeMemory, GiveMemory};
             options->allocator = &allocator;
           },
           error);
     }},
    {"spec.allocator->struct_size must be at least ", "found 4",
     [](Error* error) {
       return WithAllocateSpec(
           [](DLBridgeAllocateSpec* spec) {
             static const DLBridgeAllocator allocator = {4, 0, nullptr, TakeMemory, GiveMemory};
             spec->allocator = &allocator;
           },
           error);
     }},
    {"storage->struct_size must be at least ", "found 9",
     [](Error* error) {
       return WithStorage([](DLBridgeStorage* storage) { storage->struct_size = 9; }, error);
     }},
    {"spec->struct_size must be at least ", "found 3",
     [](Error* error) {
       return WithCopySpec([](DLBridgeCopySpec* spec) { spec->struct_size = 3; }, error);
     }},
    {"out->struct_size must be at least ", "found 7",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU),
           [](DLBridgeBuffer*, DLBridgePointerInfo* info) { info->struct_size = 7; }, error);
     }},
    {"out has bit 9 set, found 0x200", "knows 0x100",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU),
           [](DLBridgeBuffer*, DLBridgePointerInfo* info) { info->options = 1 << 9; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"sizes->struct_size must be at least ", "found 5",
     [](Error* error) {
       VersionedSource source;
       const DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
       DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
       sizes.struct_size = 5;
       const DLBridgeStatus status = dlbridge_ipc_export(source.get(), &spec, &sizes, error);
       source.Release();
       return status;
     }},
};

const ArgumentCase kPolicyCases[] = {
    {"policy.options: bit 0 is DLPACK_FLAG_BITMASK_READ_ONLY; options are bits 8 to 30",
     "clear it, or set it in tensor_flags if the call has that",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->options = 1; }, error);
     }},
    {"policy.options has bit 30 set, found 0x40000000", "knows 0x",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->options = 1 << 30; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"policy.level must be STRUCT (1), METADATA (2), DEVICE (3)", "found 9",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->level = 9; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"policy.level must be METADATA (2) or DEVICE (3) to check shape",
     "alignment or overlap, found STRUCT (1)",
     [](Error* error) {
       return WithPolicy(
           [](DLBridgePolicy* policy) {
             policy->level = DLBRIDGE_LEVEL_STRUCT;
             policy->alignment = 8;
           },
           error);
     }},
    {"policy.version must be of major 0 or 1", "found 2.4",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->version = {2, 4}; }, error);
     }},
    {"policy.contiguity must be ANY (0), C (1), F (2) or C_OR_F (3)", "found -1",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->contiguity = -1; }, error);
     }},
    {"policy.alignment must be 0 or a power of two", "found 24",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->alignment = 24; }, error);
     }},
    {"policy.max_ndim must be 0 without DLBRIDGE_POLICY_LIMIT_NDIM", "found 3",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->max_ndim = 3; }, error);
     }},
    {"policy.min_ndim must be 0 without DLBRIDGE_POLICY_LIMIT_NDIM", "found 1",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->min_ndim = 1; }, error);
     }},
    {"policy.max_ndim must be 0 to 64", "found 65",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { LimitNdim(policy, 65); }, error);
     }},
    {"policy.min_ndim must be 0 to max_ndim, which is 3", "found 5",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { LimitNdim(policy, 3, 5); }, error);
     }},
    {"policy.shape needs DLBRIDGE_POLICY_LIMIT_NDIM with min_ndim equal to max_ndim",
     "found options 0x40000, min_ndim 1 and max_ndim 3",
     [](Error* error) {
       return WithPolicy(
           [](DLBridgePolicy* policy) {
             static const int64_t shape[3] = {};
             LimitNdim(policy, 3, 1);
             policy->shape = shape;
           },
           error);
     }},
    {"policy.shape must have extents of 0 or more, or -1 for any", "found -5",
     [](Error* error) {
       return WithPolicy(
           [](DLBridgePolicy* policy) {
             static const int64_t shape[] = {2, -5};
             LimitNdim(policy, 2, 2);
             policy->shape = shape;
           },
           error);
     }},
    {"policy.buffer_size must be 0 without DLBRIDGE_POLICY_LIMIT_BUFFER", "found 24",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->buffer_size = 24; }, error);
     }},
    {"policy.devices must not be NULL with a non-zero count", "found 3",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->device_count = 3; }, error);
     }},
    {"policy.devices has count 0: set it to NULL to accept all", nullptr,
     [](Error* error) {
       return WithPolicy(
           [](DLBridgePolicy* policy) {
             static const DLDevice device = Device(kDLCPU);
             policy->devices = &device;
           },
           error);
     }},
    {"policy.dtypes has count 0: set it to NULL to accept all", nullptr,
     [](Error* error) {
       return WithPolicy(
           [](DLBridgePolicy* policy) {
             static const DLDataType dtype = Dtype(kDLFloat, 32);
             policy->dtypes = &dtype;
           },
           error);
     }},
    {"policy.dtypes must not be NULL with a non-zero count", "found 4",
     [](Error* error) {
       return WithPolicy([](DLBridgePolicy* policy) { policy->dtype_count = 4; }, error);
     }},
};

const ArgumentCase kConvertCases[] = {
    {"options.options has bit 30 set, found 0x40000000", "knows 0x",
     [](Error* error) { return Upgrade(TensorSpec(), error, Options(1 << 30)); },
     DLBRIDGE_ERROR_TOO_NEW},
    {"options.version must be of major 1, or {0, 0} for 1.3", "found 2.0",
     [](Error* error) {
       return Upgrade(TensorSpec(), error, Options(0, {2, 0}));
     }},
    {"options.version must be of major 0, or {0, 0} for 0.8", "found 1.2",
     [](Error* error) {
       return Downgrade(TensorSpec(), error, Options(0, {1, 2}));
     }},
    {"options.version must be {0, 0}: dlbridge_export takes the version from target", "found 1.1",
     [](Error* error) {
       return Export(DLBRIDGE_KIND_VERSIONED, {1, 2}, {1, 1}, error);
     }},
    {"options.policy must be NULL with DLBRIDGE_CONVERT_SKIP_VALIDATION", "found a policy",
     [](Error* error) {
       return WithOptions(
           [](DLBridgeConvertOptions* options) {
             static const DLBridgePolicy policy = Policy();
             options->options = DLBRIDGE_CONVERT_SKIP_VALIDATION;
             options->policy = &policy;
           },
           error);
     }},
    {"options.options has DLBRIDGE_CONVERT_DROP_READ_ONLY",
     "is for dlbridge_export and dlbridge_downgrade",
     [](Error* error) {
       return Upgrade(TensorSpec(), error, Options(DLBRIDGE_CONVERT_DROP_READ_ONLY));
     }},
    {"options.options has DLBRIDGE_CONVERT_DROP_PADDED",
     "is for dlbridge_export and dlbridge_downgrade",
     [](Error* error) {
       return Upgrade(TensorSpec(), error, Options(DLBRIDGE_CONVERT_DROP_PADDED));
     }},
    {"options.options has DLBRIDGE_CONVERT_ALLOW_NEWER_CODES",
     "is for dlbridge_export and dlbridge_downgrade",
     [](Error* error) {
       return Upgrade(TensorSpec(), error, Options(DLBRIDGE_CONVERT_ALLOW_NEWER_CODES));
     }},
    {"options.options has DLBRIDGE_CONVERT_COPY", "is for dlbridge_upgrade and dlbridge_import",
     [](Error* error) {
       LegacySource source;
       const DLBridgeStatus status = UpgradeMany({source.get()}, DLBRIDGE_CONVERT_COPY, error);
       source.Release();
       return status;
     }},
    {"options.options has DLBRIDGE_CONVERT_COPY", "is for dlbridge_upgrade and dlbridge_import",
     [](Error* error) {
       alignas(16) static char memory[512];
       LegacySource source;
       const DLBridgeConvertOptions options = Options(DLBRIDGE_CONVERT_COPY);
       DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
       storage.memory = memory;
       storage.size = sizeof memory;
       DLManagedTensorVersioned* out = nullptr;
       const DLBridgeStatus status =
           dlbridge_upgrade_into(source.get(), &options, &storage, &out, error);
       source.Release();
       return status;
     }},
    {"allocator.allocate is not set", nullptr,
     [](Error* error) {
       return WithOptions(
           [](DLBridgeConvertOptions* options) {
             static const DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
             options->allocator = &allocator;
           },
           error);
     }},
    {"allocator.deallocate is not set", nullptr,
     [](Error* error) {
       return WithOptions(
           [](DLBridgeConvertOptions* options) {
             static const DLBridgeAllocator allocator = {sizeof allocator, 0, nullptr, TakeMemory,
                                                         nullptr};
             options->allocator = &allocator;
           },
           error);
     }},
    {"allocator.options has bit 8 set, found 0x100", "knows 0x0",
     [](Error* error) {
       return WithOptions(
           [](DLBridgeConvertOptions* options) {
             static const DLBridgeAllocator allocator = {sizeof allocator, 1 << 8, nullptr,
                                                         TakeMemory, GiveMemory};
             options->allocator = &allocator;
           },
           error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"target must be the consumer's DLPack version, of major 0 or 1", "found 2.7",
     [](Error* error) {
       return Export(DLBRIDGE_KIND_VERSIONED, {2, 7}, {0, 0}, error);
     }},
    {"target must be the consumer's DLPack version", "not {0, 0}, found 0.0",
     [](Error* error) {
       return Export(DLBRIDGE_KIND_VERSIONED, {0, 0}, {0, 0}, error);
     }},
    {"kind must be LEGACY (1), VERSIONED (2) or UNKNOWN (0)", "found 3",
     [](Error* error) {
       return Export(DLBRIDGE_KIND_BORROWED, {1, 0}, {0, 0}, error);
     }},
    {"tensor can be both a legacy and a versioned tensor", "pass its kind",
     [](Error* error) {
       DLManagedTensor legacy = {};
       legacy.dl_tensor.data = reinterpret_cast<void*>((uint64_t{3} << 32) | 1);
       legacy.dl_tensor.device = Device(kDLWebGPU);
       legacy.dl_tensor.dtype = Dtype(kDLFloat, 32);
       legacy.dl_tensor.byte_offset = kDLCPU;
       legacy.manager_ctx = reinterpret_cast<void*>(uint64_t{0x00012002} << 32);
       return ImportBytes(&legacy, error);
     },
     DLBRIDGE_ERROR_AMBIGUOUS},
    {"tensor has a version, but can be neither", "pass its kind",
     [](Error* error) {
       alignas(8) unsigned char bytes[64];
       std::memset(bytes, 0xff, sizeof bytes);
       const DLPackVersion version = {1, 3};
       std::memcpy(bytes, &version, sizeof version);
       return ImportBytes(bytes, error);
     },
     DLBRIDGE_ERROR_AMBIGUOUS},
    {"tensor is not dlbridge-owned: call dlbridge_import first", nullptr,
     [](Error* error) {
       VersionedSource source;
       DLManagedTensorVersioned* out = nullptr;
       const DLBridgeStatus status = dlbridge_share(source.get(), &out, error);
       source.Release();
       return status;
     },
     DLBRIDGE_ERROR_FOREIGN_TENSOR},
};

const ArgumentCase kOwnedCases[] = {
    {"ndim of a dlbridge-owned tensor was changed: expected 2", "found 1",
     [](Error* error) {
       return ShareChanged([](DLManagedTensorVersioned* tensor) { tensor->dl_tensor.ndim = 1; },
                           error);
     }},
    {"shape of a dlbridge-owned tensor must point to the array",
     "use dlbridge_view for another layout",
     [](Error* error) {
       return ShareChanged(
           [](DLManagedTensorVersioned* tensor) {
             tensor->dl_tensor.shape = tensor->dl_tensor.strides;
           },
           error);
     }},
    {"strides of a dlbridge-owned tensor must point to the array",
     "use dlbridge_view for another layout",
     [](Error* error) {
       return ShareChanged(
           [](DLManagedTensorVersioned* tensor) { tensor->dl_tensor.strides = nullptr; }, error);
     }},
    {"version of a dlbridge-owned tensor was changed: expected 1.3", "found 1.7",
     [](Error* error) {
       return ShareChanged([](DLManagedTensorVersioned* tensor) { tensor->version.minor = 7; },
                           error);
     }},
    {"flags of a dlbridge-owned tensor were changed: only READ_ONLY may be added",
     "expected 0x0, found 0x2",
     [](Error* error) {
       return ShareChanged([](DLManagedTensorVersioned* tensor) { tensor->flags = kCopied; },
                           error);
     }},
};

const ArgumentCase kStorageAndBatchCases[] = {
    {"storage.options has bit 12 set, found 0x1000", "knows 0x0",
     [](Error* error) {
       return WithStorage([](DLBridgeStorage* storage) { storage->options = 1 << 12; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"storage.memory is not set", nullptr,
     [](Error* error) {
       return WithStorage([](DLBridgeStorage* storage) { storage->memory = nullptr; }, error);
     }},
    {"storage.memory must be aligned to 16 bytes", "found 8",
     [](Error* error) {
       return WithStorage(
           [](DLBridgeStorage* storage) {
             storage->memory = static_cast<char*>(storage->memory) + 8;
           },
           error);
     }},
    {"storage.size must be at least ", "found 16",
     [](Error* error) {
       return WithStorage([](DLBridgeStorage* storage) { storage->size = 16; }, error);
     },
     DLBRIDGE_ERROR_BUFFER_TOO_SMALL},
    {"sources must not contain NULL", "found NULL at index 1",
     [](Error* error) {
       LegacySource source;
       const DLBridgeStatus status = UpgradeMany({source.get(), nullptr}, 0, error);
       source.Release();
       return status;
     }},
    {"sources[1] is the same tensor as sources[0]", "give each tensor once",
     [](Error* error) {
       LegacySource source;
       const DLBridgeStatus status = UpgradeMany({source.get(), source.get()}, 0, error);
       source.Release();
       return status;
     }},
};

const ArgumentCase kViewAndAllocateCases[] = {
    {"spec.dtype must have as many bits as the parent's float32", "found int8",
     [](Error* error) {
       return WithViewSpec([](DLBridgeViewSpec* spec) { spec->dtype = Dtype(kDLInt, 8); }, error);
     }},
    {"spec.options has bit 8 set, found 0x100", "knows 0x0",
     [](Error* error) {
       return WithViewSpec([](DLBridgeViewSpec* spec) { spec->options = 1 << 8; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"spec.dtype is not set", nullptr,
     [](Error* error) {
       return WithAllocateSpec([](DLBridgeAllocateSpec* spec) { spec->dtype = Dtype(0, 0, 0); },
                               error);
     }},
    {"spec.alignment must be 0 or a power of two", "found 48",
     [](Error* error) {
       return WithAllocateSpec([](DLBridgeAllocateSpec* spec) { spec->alignment = 48; }, error);
     }},
    {"spec.version must be of major 1, or {0, 0} for 1.3", "found 0.8",
     [](Error* error) {
       return WithAllocateSpec([](DLBridgeAllocateSpec* spec) { spec->version = {0, 8}; }, error);
     }},
    {"spec.device must be the CPU unless spec.allocator is set", "found cuda:1",
     [](Error* error) {
       return WithAllocateSpec(
           [](DLBridgeAllocateSpec* spec) { spec->device = Device(kDLCUDA, 1); }, error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"spec.options has DLBRIDGE_ALLOCATE_SHAREABLE, which needs the CPU and no allocator",
     "found cuda:0",
     [](Error* error) {
       return WithAllocateSpec(
           [](DLBridgeAllocateSpec* spec) {
             spec->options = DLBRIDGE_ALLOCATE_SHAREABLE;
             spec->device = Device(kDLCUDA);
           },
           error);
     }},
    {"spec.options has DLBRIDGE_ALLOCATE_SHAREABLE, which needs the CPU and no allocator",
     "found an allocator",
     [](Error* error) {
       return WithAllocateSpec(
           [](DLBridgeAllocateSpec* spec) {
             spec->options = DLBRIDGE_ALLOCATE_SHAREABLE;
             spec->allocator = &kAllocator;
           },
           error);
     }},
#ifdef __linux__
    {"spec.alignment must be at most ",
     ", the size of a page, for SHAREABLE memory, found 1073741824",
     [](Error* error) {
       const int64_t shape[] = {1};
       return WithAllocateSpec(
           [&shape](DLBridgeAllocateSpec* spec) {
             spec->options = DLBRIDGE_ALLOCATE_SHAREABLE;
             spec->ndim = 1;
             spec->shape = shape;
             spec->alignment = uint64_t{1} << 30;
           },
           error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
#endif
};

const ArgumentCase kTextCases[] = {
    {"text is not a dtype: expected a name such as float32, bfloat16x4 or dtype(code,bits,lanes)",
     "found \"flaot32\"",
     [](Error* error) {
       DLDataType out;
       return dlbridge_dtype_parse("flaot32", 7, &out, error);
     },
     DLBRIDGE_ERROR_PARSE},
    // Bytes that are not ASCII, and more than the message shows.
    {"text is not a dtype: expected a name such as float32, bfloat16x4 or dtype(code,bits,lanes)",
     "found \"???? and more text than a messag...\"",
     [](Error* error) {
       const char text[] = "\xff\x01\n\xc3 and more text than a message has room for";
       DLDataType out;
       return dlbridge_dtype_parse(text, sizeof text - 1, &out, error);
     },
     DLBRIDGE_ERROR_PARSE},
    {"text is not a device: expected a name such as cpu:0, cuda:1 or device(type):id",
     "found \"cuda:x\"",
     [](Error* error) {
       DLDevice out;
       return dlbridge_device_parse("cuda:x", 6, &out, error);
     },
     DLBRIDGE_ERROR_PARSE},
    {"buffer must not be NULL with a non-zero size", "found 9",
     [](Error* error) {
       return dlbridge_device_format(Device(kDLCPU), nullptr, 9, nullptr, error);
     }},
    {"length must not be NULL if buffer is NULL", nullptr,
     [](Error* error) {
       return dlbridge_device_format(Device(kDLCPU), nullptr, 0, nullptr, error);
     }},
    {"size must be at least 8", "found 4",
     [](Error* error) {
       char buffer[4];
       return dlbridge_dtype_format(Dtype(kDLFloat, 32), buffer, sizeof buffer, nullptr, error);
     },
     DLBRIDGE_ERROR_BUFFER_TOO_SMALL},
    {"findings must not be NULL with a non-zero capacity", "found 5",
     [](Error* error) {
       size_t count = 0;
       const DLTensor tensor = {};
       return dlbridge_diagnose(&tensor, DLBRIDGE_KIND_BORROWED, 0, nullptr, nullptr, 5, &count,
                                error);
     }},
    {"kind must be LEGACY (1), VERSIONED (2) or BORROWED (3)", "found 4",
     [](Error* error) {
       size_t count = 0;
       const DLTensor tensor = {};
       return dlbridge_diagnose(&tensor, DLBRIDGE_KIND_AMBIGUOUS, 0, nullptr, nullptr, 0, &count,
                                error);
     }},
    {"tensor_flags must be 0 for a managed tensor", "found 2",
     [](Error* error) {
       size_t count = 0;
       const DLManagedTensor tensor = {};
       return dlbridge_diagnose(&tensor, DLBRIDGE_KIND_LEGACY, 2, nullptr, nullptr, 0, &count,
                                error);
     }},
};

const ArgumentCase kVersionAndModuleCases[] = {
    {"the producer's major version is 3, but the consumer reads up to 2",
     "offer the consumer's major, or legacy",
     [](Error* error) {
       DLBridgeKind kind = 0;
       DLPackVersion version;
       return dlbridge_negotiate({3, 0}, {2, 1}, &kind, &version, error);
     },
     DLBRIDGE_ERROR_VERSION},
    {"consumer.major must be 1", "found 7",
     [](Error* error) {
       const DLPackExchangeAPIHeader chain = {};
       const DLPackExchangeAPI* out = nullptr;
       return dlbridge_exchange_api_find(&chain, {7, 0}, &out, error);
     },
     DLBRIDGE_ERROR_VERSION},
    {"the chain has no complete table of major 1 among its first 64", nullptr,
     [](Error* error) {
       const DLPackExchangeAPIHeader chain = {};
       const DLPackExchangeAPI* out = nullptr;
       return dlbridge_exchange_api_find(&chain, {1, 0}, &out, error);
     },
     DLBRIDGE_ERROR_NOT_FOUND},
    {"address is in no loaded module",
     "pass the address of a function or of static data of the module",
     [](Error* error) { return dlbridge_module_pin(reinterpret_cast<void*>(16), error); },
     DLBRIDGE_ERROR_NOT_FOUND},
    {"backend must be one of CPU (1) to OPENCL (5)", "found 9",
     [](Error* error) {
       DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
       return dlbridge_backend_info(9, &info, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
};

const ArgumentCase kWrapCases[] = {
    {"spec.release is NULL, but spec.options has DLBRIDGE_WRAP_RELEASE_ON_STREAM", nullptr,
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) {
             spec->release = nullptr;
             spec->options = DLBRIDGE_WRAP_RELEASE_ON_STREAM;
           },
           error);
     }},
    {"spec.device is not set", nullptr,
     [](Error* error) {
       return WithWrapSpec([](DLBridgeWrapSpec* spec) { spec->device = Device(0); }, error);
     }},
    {"spec.dtype is not set", nullptr,
     [](Error* error) {
       return WithWrapSpec([](DLBridgeWrapSpec* spec) { spec->dtype = Dtype(0, 0, 0); }, error);
     }},
    {"spec.buffer.kind must be 0, or CL_MEM (2) for OpenCL", "found 2",
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) { spec->buffer.kind = DLBRIDGE_BUFFER_CL_MEM; }, error);
     }},
    {"spec.buffer must have zero in its reserved field", "found 5",
     [](Error* error) {
       return WithWrapSpec([](DLBridgeWrapSpec* spec) { spec->buffer.reserved = 5; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"spec.buffer.backend must be NONE (0) or CUDA (2) for cuda:1", "found 3",
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) {
             spec->device = Device(kDLCUDA, 1);
             spec->buffer.backend = DLBRIDGE_BACKEND_HIP;
           },
           error);
     }},
    {"spec.buffer.backend must be NONE (0) or Level Zero (4) or OpenCL (5) for oneapi:0", "found 2",
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) {
             spec->device = Device(kDLOneAPI);
             spec->buffer.backend = DLBRIDGE_BACKEND_CUDA;
           },
           error);
     }},
    {"spec.buffer.backend must be the backend of the context's entry in the table, 5", "found 4",
     [](Error* error) {
       return WithRegistered([error] {
         return WithWrapSpec(
             [](DLBridgeWrapSpec* spec) {
               spec->device = Device(kDLOneAPI, 902);
               spec->buffer.context = 0xc1;
               spec->buffer.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
             },
             error);
       });
     }},
    {"spec.options has DLBRIDGE_WRAP_RETAIN, which is only for OpenCL", "found cuda:1",
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) {
             spec->device = Device(kDLCUDA, 1);
             spec->options = DLBRIDGE_WRAP_RETAIN;
           },
           error);
     }},
    {"spec.buffer_size must be 0 without DLBRIDGE_WRAP_LIMIT_BUFFER", "found 24",
     [](Error* error) {
       return WithWrapSpec([](DLBridgeWrapSpec* spec) { spec->buffer_size = 24; }, error);
     }},
    {"spec.options has DLBRIDGE_WRAP_SKIP_VALIDATION, which excludes a policy", "found a policy",
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) {
             static const DLBridgePolicy policy = Policy();
             spec->options = DLBRIDGE_WRAP_SKIP_VALIDATION;
             spec->policy = &policy;
           },
           error);
     }},
    {"spec.options has DLBRIDGE_WRAP_SKIP_VALIDATION, which excludes DLBRIDGE_WRAP_LIMIT_BUFFER",
     "found both",
     [](Error* error) {
       return WithWrapSpec(
           [](DLBridgeWrapSpec* spec) {
             spec->options = DLBRIDGE_WRAP_SKIP_VALIDATION | DLBRIDGE_WRAP_LIMIT_BUFFER;
           },
           error);
     }},
    {"spec.version must be {0, 0} for a legacy tensor", "found 0.6",
     [](Error* error) {
       DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
       spec.version = {0, 6};
       DLManagedTensor* out = nullptr;
       return dlbridge_wrap_legacy(&spec, &out, error);
     }},
};

const ArgumentCase kCopyCases[] = {
    {"spec.stream must be of kind HOST (1), NO_SYNC (2), QUEUE (3) or IMMEDIATE_LIST (4)",
     "found 9",
     [](Error* error) {
       return WithCopySpec([](DLBridgeCopySpec* spec) { spec->stream.kind = 9; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"spec.stream must have zero in its reserved field", "found 6",
     [](Error* error) {
       return WithCopySpec([](DLBridgeCopySpec* spec) { spec->stream.reserved = 6; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"spec.target.kind must be 0, or CL_MEM (2) for OpenCL, else ADDRESS (1)", "found 3",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec);
             spec->target.kind = DLBRIDGE_BUFFER_HANDLE;
           },
           error);
     }},
    {"spec.target must have zero in its reserved field", "found 7",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec);
             spec->target.reserved = 7;
           },
           error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"spec.target.backend must be NONE (0) or the CPU (1) for cpu:0", "found 8",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec);
             spec->target.backend = 8;
           },
           error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"spec.target_offset must be at most target_size, which is 64", "found 65",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec);
             spec->target_offset = 65;
           },
           error);
     }},
    {"spec.target_size leaves the address space", "found 18446744073709551615",
     [](Error* error) {
       return WithCopySpec([](DLBridgeCopySpec* spec) { SetTarget(spec, UINT64_MAX); }, error);
     }},
    {"spec.target_size must be at least 31", "found 30",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec, 30);
             spec->target_offset = 7;
           },
           error);
     },
     DLBRIDGE_ERROR_BUFFER_TOO_SMALL},
    {"spec.allocator must be NULL with a target", "found an allocator",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec);
             spec->allocator = &kAllocator;
           },
           error);
     }},
    {"spec.target.handle is not set, but other fields of the target are", nullptr,
     [](Error* error) {
       return WithCopySpec([](DLBridgeCopySpec* spec) { spec->target_size = 24; }, error);
     }},
    {"spec.device must be the CPU unless spec.target or spec.allocator is set", "found cuda:2",
     [](Error* error) {
       return WithCopySpec([](DLBridgeCopySpec* spec) { spec->device = Device(kDLCUDA, 2); },
                           error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"spec.options has DLBRIDGE_COPY_SHAREABLE, which needs the CPU, no target and no allocator",
     "found a target",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             SetTarget(spec);
             spec->options = DLBRIDGE_COPY_SHAREABLE;
           },
           error);
     }},
    {"spec.options has DLBRIDGE_COPY_SHAREABLE, which needs the CPU, no target and no allocator",
     "found an allocator",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             spec->allocator = &kAllocator;
             spec->options = DLBRIDGE_COPY_SHAREABLE;
           },
           error);
     }},
    {"spec.options has DLBRIDGE_COPY_SHAREABLE, which needs the CPU, no target and no allocator",
     "found cuda:0",
     [](Error* error) {
       return WithCopySpec(
           [](DLBridgeCopySpec* spec) {
             spec->device = Device(kDLCUDA);
             spec->options = DLBRIDGE_COPY_SHAREABLE;
           },
           error);
     }},
    {"source must be on a device whose driver this build can call: CPU, CUDA, ROCm",
     "found vulkan:0",
     [](Error* error) { return WithCopySpec([](DLBridgeCopySpec*) {}, error, Device(kDLVulkan)); },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"spec.target shares bytes with the source, or lies between two of them", nullptr,
     [](Error* error) {
       VersionedSource source;
       DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
       spec.target = dlbridge_buffer_address(source.tensor()->data);
       spec.target_size = 24;
       DLManagedTensorVersioned* out = nullptr;
       const DLBridgeStatus status = dlbridge_copy(source.tensor(), 0, &spec, &out, error);
       source.Release();
       return status;
     }},
};

const ArgumentCase kStreamCases[] = {
    {"stream must not be 0 for CUDA", "expected None or 1 for the legacy default stream",
     [](Error* error) { return FromArrayApi(Device(kDLCUDA), 0, error); }},
    {"stream must be None, -1, 1, 2 or a cudaStream_t for CUDA", "found -7",
     [](Error* error) { return FromArrayApi(Device(kDLCUDA), -7, error); }},
    {"stream must be None, -1, 0 or a hipStream_t for ROCm", "found 2",
     [](Error* error) { return FromArrayApi(Device(kDLROCM), 2, error); }},
    {"stream must be None on the CPU", "found 5",
     [](Error* error) { return FromArrayApi(Device(kDLCPU), 5, error); }},
    {"stream must be None or -1 on this device", "found 33",
     [](Error* error) { return FromArrayApi(Device(kDLOpenCL), 33, error); },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"options has bit 20 set, found 0x100000", "knows 0x300",
     [](Error* error) {
       return Handoff(Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 1), error, 1 << 20);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"producer is not set: its kind is 0", nullptr,
     [](Error* error) { return Handoff(Stream(DLBRIDGE_BACKEND_CUDA, 0, 1), error); }},
    {"producer must be of kind HOST (1), NO_SYNC (2), QUEUE (3) or IMMEDIATE_LIST (4)", "found -9",
     [](Error* error) { return Handoff(Stream(DLBRIDGE_BACKEND_CUDA, -9, 1), error); }},
    {"producer must have the backend of its queue: CUDA (2), HIP (3), LEVEL_ZERO (4)", "found 1",
     [](Error* error) {
       return Handoff(Stream(DLBRIDGE_BACKEND_CPU, DLBRIDGE_STREAM_QUEUE, 1), error);
     }},
    {"producer is an immediate list, which only the backend LEVEL_ZERO (4) has", "found 5",
     [](Error* error) {
       return Handoff(Stream(DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_STREAM_IMMEDIATE_LIST, 1), error);
     }},
    {"producer has no handle: expected 1 for CUDA's legacy default stream", nullptr,
     [](Error* error) {
       return Handoff(Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 0), error);
     }},
    {"producer has no handle: expected a queue of the driver", nullptr,
     [](Error* error) {
       return Handoff(Stream(DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_STREAM_QUEUE, 0), error);
     }},
    {"producer and consumer are queues of two backends, 2 and 5",
     "set DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT",
     [](Error* error) {
       return Handoff(Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 1), error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"consumer is not set: its kind is 0", nullptr,
     [](Error* error) {
       const DLBridgeStream producer = Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 1);
       const DLBridgeStream consumer = DLBRIDGE_STREAM_INIT;
       return dlbridge_stream_handoff(&producer, &consumer, 0, error);
     }},
    {"stream is of kind NO_SYNC, which names no queue to wait for", nullptr,
     [](Error* error) {
       const DLBridgeStream stream = Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_NO_SYNC, 0);
       return dlbridge_stream_synchronize(&stream, error);
     }},
};

const ArgumentCase kPendingCases[] = {
    {"kind must be LEGACY (1) or VERSIONED (2)", "found 0",
     [](Error* error) {
       const DLBridgeStream stream = Stream(DLBRIDGE_BACKEND_NONE, DLBRIDGE_STREAM_HOST, 0);
       LegacySource source;
       const DLBridgeStatus status =
           dlbridge_release_after(source.get(), DLBRIDGE_KIND_UNKNOWN, &stream, 1, error);
       source.Release();
       return status;
     }},
    {"count must be at least 1: a tensor that no stream uses is released by dlbridge_release",
     nullptr,
     [](Error* error) {
       const DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
       LegacySource source;
       const DLBridgeStatus status =
           dlbridge_release_after(source.get(), DLBRIDGE_KIND_LEGACY, &stream, 0, error);
       source.Release();
       return status;
     }},
    {"streams[0] is of kind NO_SYNC, which names no work to wait for", nullptr,
     [](Error* error) {
       const DLBridgeStream stream = Stream(DLBRIDGE_BACKEND_NONE, DLBRIDGE_STREAM_NO_SYNC, 0);
       LegacySource source;
       const DLBridgeStatus status =
           dlbridge_release_after(source.get(), DLBRIDGE_KIND_LEGACY, &stream, 1, error);
       source.Release();
       return status;
     }},
    {"streams must not be NULL", nullptr,
     [](Error* error) {
       LegacySource source;
       const DLBridgeStatus status =
           dlbridge_release_after(source.get(), DLBRIDGE_KIND_LEGACY, nullptr, 1, error);
       source.Release();
       return status;
     }},
    {"options has bit 9 set, found 0x200", "knows 0x100",
     [](Error* error) { return dlbridge_collect(1 << 9, nullptr, error); }, DLBRIDGE_ERROR_TOO_NEW},
    {"spec.stream is of kind NO_SYNC, which names no queue to copy on", nullptr,
     [](Error* error) {
       return CopyAsync([](DLBridgeCopySpec* spec) { spec->stream.kind = DLBRIDGE_STREAM_NO_SYNC; },
                        error);
     }},
    {"spec.options has DLBRIDGE_COPY_ALLOW_STAGING, but a copy through host memory must wait",
     "call dlbridge_copy",
     [](Error* error) {
       return CopyAsync(
           [](DLBridgeCopySpec* spec) {
             spec->stream.kind = DLBRIDGE_STREAM_HOST;
             spec->options = DLBRIDGE_COPY_ALLOW_STAGING;
           },
           error);
     }},
    {"the copy is between two memories of the host, which no queue can order", "call dlbridge_copy",
     [](Error* error) {
       return CopyAsync(
           [](DLBridgeCopySpec* spec) {
             spec->stream = Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 4096);
           },
           error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
};

const ArgumentCase kPointerCases[] = {
    {"out.struct_size must be at least ", "found ",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU),
           [](DLBridgeBuffer*, DLBridgePointerInfo* info) {
             info->options = DLBRIDGE_POINTER_INFO_PEERS;
             info->struct_size -= 8;
           },
           error);
     },
     DLBRIDGE_ERROR_BUFFER_TOO_SMALL},
    {"buffer must have zero in its reserved field", "found 3",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU),
           [](DLBridgeBuffer* buffer, DLBridgePointerInfo*) { buffer->reserved = 3; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"buffer.kind must be ADDRESS (1) or CL_MEM (2)", "found 3",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU), [](DLBridgeBuffer* buffer, DLBridgePointerInfo*) { buffer->kind = 3; },
           error);
     }},
    {"buffer.backend must be NONE (0) or one of CPU (1) to OPENCL (5)", "found 6",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU),
           [](DLBridgeBuffer* buffer, DLBridgePointerInfo*) { buffer->backend = 6; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"buffer.backend must be OPENCL (5) for a CL_MEM", "found 1",
     [](Error* error) {
       return AskAbout(
           Device(kDLCPU),
           [](DLBridgeBuffer* buffer, DLBridgePointerInfo*) {
             buffer->kind = DLBRIDGE_BUFFER_CL_MEM;
             buffer->backend = DLBRIDGE_BACKEND_CPU;
           },
           error);
     }},
    {"buffer.handle must not be NULL for a CL_MEM", nullptr,
     [](Error* error) {
       return AskAbout(
           Device(kDLOpenCL),
           [](DLBridgeBuffer* buffer, DLBridgePointerInfo*) {
             buffer->kind = DLBRIDGE_BUFFER_CL_MEM;
             buffer->handle = 0;
           },
           error);
     }},
    {"device must be of a type whose driver this build can call: CPU, CUDA, ROCm", "found vulkan:1",
     [](Error* error) {
       return AskAbout(
           Device(kDLVulkan, 1), [](DLBridgeBuffer*, DLBridgePointerInfo*) {}, error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
};

const ArgumentCase kContextCases[] = {
    {"entry.struct_size must be 128", "found 120",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->struct_size = 120; }, error);
     }},
    {"entry.id must be 0: the table assigns it", "found 77",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->id = 77; }, error);
     }},
    {"entry.reserved must be zero", "found 0x9; a newer library may support it",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->reserved[2] = 9; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"entry.properties must have no bits but DEFAULT, REPLACE, ENUMERATED, PRIVATE",
     "found 0x80000000; a newer library may support it",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->properties = 1U << 31; }, error);
     },
     DLBRIDGE_ERROR_TOO_NEW},
    {"entry.properties must not have both DLBRIDGE_CONTEXT_ENUMERATED and DLBRIDGE_CONTEXT_REPLACE",
     "found both",
     [](Error* error) {
       return WithEntry(
           [](DLBridgeContextEntry* entry) {
             entry->properties = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_REPLACE;
           },
           error);
     }},
    {"entry.device must be kDLCUDA, kDLROCM, kDLOpenCL or kDLOneAPI", "found cuda_host:1",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->device = Device(kDLCUDAHost, 1); },
                        error);
     }},
    {"entry.device must not have a negative id", "found oneapi:-4",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->device.device_id = -4; }, error);
     }},
    {"entry.backend must be the device's: CUDA (2), HIP (3), OPENCL (5)", "found 2",
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->backend = DLBRIDGE_BACKEND_CUDA; },
                        error);
     }},
    {"entry.native_device must be the ordinal in CUDA and HIP", "found 2147483648",
     [](Error* error) {
       return WithEntry(
           [](DLBridgeContextEntry* entry) {
             entry->backend = DLBRIDGE_BACKEND_CUDA;
             entry->device = Device(kDLCUDA, 901);
             entry->native_device = uint64_t{1} << 31;
           },
           error);
     }},
    {"entry.platform must be 0 in CUDA and HIP", "found 4",
     [](Error* error) {
       return WithEntry(
           [](DLBridgeContextEntry* entry) {
             entry->backend = DLBRIDGE_BACKEND_CUDA;
             entry->device = Device(kDLCUDA, 901);
             entry->native_device = 0;
             entry->platform = 4;
           },
           error);
     }},
    {"entry.context must be 0 in HIP", "found 193",
     [](Error* error) {
       return WithEntry(
           [](DLBridgeContextEntry* entry) {
             entry->backend = DLBRIDGE_BACKEND_HIP;
             entry->device = Device(kDLROCM, 901);
           },
           error);
     }},
    {"entry.context must not be NULL in Level Zero and OpenCL", nullptr,
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->context = 0; }, error);
     }},
    {"entry.native_device must not be NULL in Level Zero and OpenCL", nullptr,
     [](Error* error) {
       return WithEntry([](DLBridgeContextEntry* entry) { entry->native_device = 0; }, error);
     }},
    {"entry.queue_kind must be 0 without a queue, else QUEUE (3)", "found 3",
     [](Error* error) {
       return WithEntry(
           [](DLBridgeContextEntry* entry) { entry->queue_kind = DLBRIDGE_STREAM_QUEUE; }, error);
     }},
    {"the context table already has this device and context", "set DLBRIDGE_CONTEXT_REPLACE",
     [](Error* error) {
       return WithRegistered([error] {
         return WithEntry([](DLBridgeContextEntry* entry) { entry->device.device_id = 902; },
                          error);
       });
     },
     DLBRIDGE_ERROR_EXISTS},
    {"the context table has no entry after the cursor", nullptr, PastTheLastEntry,
     DLBRIDGE_ERROR_NOT_FOUND},
    {"the context table has no such entry: expected the id of a registered entry",
     "found 123456789", [](Error* error) { return dlbridge_context_unregister(123456789, error); },
     DLBRIDGE_ERROR_NOT_FOUND},
    {"the context table has no such entry: expected the id of a registered entry",
     "found 123456788", [](Error* error) { return dlbridge_context_retain(123456788, error); },
     DLBRIDGE_ERROR_NOT_FOUND},
    {"the context table has no such entry: expected the id of a retained entry", "found 123456787",
     [](Error* error) { return dlbridge_context_release(123456787, error); },
     DLBRIDGE_ERROR_NOT_FOUND},
    {"device must be of CUDA, ROCm, oneAPI or OpenCL", "found vulkan:1",
     [](Error* error) {
       DLBridgeContextEntry entry;
       return dlbridge_context_find(Device(kDLVulkan, 1), 0, &entry, error);
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
};

// ------------------------------------------------------------------------ arguments of sharing

uint64_t ChecksumOf(const std::vector<uint8_t>& bytes) {
  uint64_t sum = 0xcbf29ce484222325U;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum = (sum ^ (i >= 16 && i < 24 ? 0 : bytes[i])) * 0x100000001b3U;
  }
  return sum;
}

// The descriptor of an empty tensor, which has no memory and no file descriptors.
std::vector<uint8_t> DescriptorOfNothing() {
  const int64_t shape[] = {0};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = Dtype(kDLFloat, 32);
  spec.shape = shape;
  spec.ndim = 1;
  DLManagedTensorVersioned* tensor = nullptr;
  EXPECT_EQ(dlbridge_allocate(&spec, &tensor, nullptr), DLBRIDGE_OK);
  uint8_t buffer[kIpcBytes];
  size_t length = 0;
  size_t fds = 0;
  EXPECT_EQ(IpcExport(tensor, 0, {buffer, sizeof buffer, nullptr, 0}, &length, &fds, nullptr),
            DLBRIDGE_OK);
  dlbridge_release_versioned(tensor);
  return {buffer, buffer + length};
}

DLBridgeStatus ImportDescriptor(const std::vector<uint8_t>& bytes, Error* error,
                                size_t fd_count = 0) {
  const int32_t fds[4] = {-1, -1, -1, -1};
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status =
      IpcImport(bytes.data(), bytes.size(), fds, fd_count, 0, nullptr, &out, error);
  EXPECT_EQ(out, nullptr);
  return status;
}

// Changes a 32-bit field and sets the matching checksum.
DLBridgeStatus ImportForged(size_t at, uint32_t value, Error* error, uint32_t format = 1) {
  std::vector<uint8_t> bytes = DescriptorOfNothing();
  std::memcpy(bytes.data() + 8, &format, sizeof format);
  std::memcpy(bytes.data() + at, &value, sizeof value);
  const uint64_t sum = ChecksumOf(bytes);
  std::memcpy(bytes.data() + 16, &sum, sizeof sum);
  return ImportDescriptor(bytes, error);
}

template <class Change>
DLBridgeStatus WithExportSpec(Change change, Error* error, DLDevice device = Device(kDLCPU)) {
  VersionedSource source(SpecOf(Dtype(kDLFloat, 32), device));
  DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  change(&spec);
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  const DLBridgeStatus status = dlbridge_ipc_export(source.get(), &spec, &sizes, error);
  source.Release();
  return status;
}

template <class Change>
DLBridgeStatus WithImportSpec(Change change, Error* error) {
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  change(&spec);
  DLManagedTensorVersioned* out = nullptr;
  return dlbridge_ipc_import(&spec, &out, error);
}

constexpr DLBridgeStream kUnsetStream = DLBRIDGE_STREAM_INIT;
constexpr DLBridgeStream kUnorderedStream = {
    DLBRIDGE_BACKEND_NONE, DLBRIDGE_STREAM_NO_SYNC, {kDLCPU, 0}, 0, 0, 0};

const ArgumentCase kIpcCases[] = {
    {"spec.stream is not set: its kind is 0", nullptr,
     [](Error* error) {
       return WithExportSpec([](DLBridgeIpcExportSpec* spec) { spec->stream = &kUnsetStream; },
                             error);
     }},
    {"spec.stream must be NULL or of kind HOST (1) for host memory", "found 2",
     [](Error* error) {
       return WithExportSpec([](DLBridgeIpcExportSpec* spec) { spec->stream = &kUnorderedStream; },
                             error);
     }},
    {"spec.stream is not set: its kind is 0", nullptr,
     [](Error* error) {
       return WithImportSpec(
           [](DLBridgeIpcImportSpec* spec) {
             spec->buffer = g_memory;
             spec->stream = &kUnsetStream;
           },
           error);
     }},
    {"spec.buffer must not be NULL with a non-zero buffer_size", "found 12",
     [](Error* error) {
       return WithExportSpec([](DLBridgeIpcExportSpec* spec) { spec->buffer_size = 12; }, error);
     }},
    {"spec.fds must not be NULL with a non-zero fd_capacity", "found 2",
     [](Error* error) {
       return WithExportSpec([](DLBridgeIpcExportSpec* spec) { spec->fd_capacity = 2; }, error);
     }},
    {"the tensor's memory is not shareable", "copy it with DLBRIDGE_COPY_SHAREABLE",
     [](Error* error) { return WithExportSpec([](DLBridgeIpcExportSpec*) {}, error); },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"the tensor's device has no memory that processes can share", "found vulkan:0",
     [](Error* error) {
       return WithExportSpec([](DLBridgeIpcExportSpec*) {}, error, Device(kDLVulkan));
     },
     DLBRIDGE_ERROR_UNSUPPORTED},
    {"spec.buffer_size must be at least 120", "found 0",
     [](Error* error) {
       const int64_t shape[] = {0};
       DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
       spec.dtype = Dtype(kDLFloat, 32);
       spec.shape = shape;
       spec.ndim = 1;
       DLManagedTensorVersioned* tensor = nullptr;
       EXPECT_EQ(dlbridge_allocate(&spec, &tensor, nullptr), DLBRIDGE_OK);
       size_t length = 0;
       size_t fds = 0;
       const DLBridgeStatus status = IpcExport(tensor, 0, {}, &length, &fds, error);
       dlbridge_release_versioned(tensor);
       return status;
     },
     DLBRIDGE_ERROR_BUFFER_TOO_SMALL},
    {"spec.buffer is not set", nullptr,
     [](Error* error) { return WithImportSpec([](DLBridgeIpcImportSpec*) {}, error); }},
    {"spec.fds must not be NULL with a non-zero fd_count", "found 3",
     [](Error* error) {
       return WithImportSpec(
           [](DLBridgeIpcImportSpec* spec) {
             spec->buffer = g_memory;
             spec->fd_count = 3;
           },
           error);
     }},
    {"spec.buffer_size must be at most 4096", "found 4097",
     [](Error* error) {
       return WithImportSpec(
           [](DLBridgeIpcImportSpec* spec) {
             spec->buffer = g_memory;
             spec->buffer_size = 4097;
           },
           error);
     },
     DLBRIDGE_ERROR_DESCRIPTOR},
    {"spec.fd_count must be 0", "found 2",
     [](Error* error) { return ImportDescriptor(DescriptorOfNothing(), error, 2); },
     DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor is truncated: expected at least 104 bytes", "found 10",
     [](Error* error) { return ImportDescriptor(std::vector<uint8_t>(10), error); },
     DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor does not begin like a descriptor of dlbridge_ipc_export", nullptr,
     [](Error* error) { return ImportDescriptor(std::vector<uint8_t>(200), error); },
     DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has format 6, expected 1 or 2", "update this one",
     [](Error* error) { return ImportForged(8, 6, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has a length that differs from its own length field: expected 119 bytes",
     "found 120", [](Error* error) { return ImportForged(12, 119, error); },
     DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor is corrupt: its checksum does not match", nullptr,
     [](Error* error) {
       std::vector<uint8_t> bytes = DescriptorOfNothing();
       bytes.back() ^= 1;
       return ImportDescriptor(bytes, error);
     },
     DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor must have 0 to 64 axes", "found 65",
     [](Error* error) { return ImportForged(44, 65, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor must have a handle of at most 256 bytes after its arrays", "found 257",
     [](Error* error) { return ImportForged(88, 257, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has a length that does not match its arrays: expected 136 bytes", "found 120",
     [](Error* error) { return ImportForged(44, 2, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor needs too many file descriptors: expected at most 4", "found 5",
     [](Error* error) { return ImportForged(92, 5, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    // The handle and the file descriptors of format 2 have other limits.
    {"the descriptor must have a handle of at most 2304 bytes after its arrays", "found 2305",
     [](Error* error) { return ImportForged(88, 2305, error, 2); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor needs too many file descriptors: expected at most 253", "found 254",
     [](Error* error) { return ImportForged(92, 254, error, 2); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has a device, kind of memory and file descriptors that contradict each other",
     nullptr, [](Error* error) { return ImportForged(8, 2, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has a kind of memory that this library does not know", "found 11",
     [](Error* error) { return ImportForged(24, 11, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has a bit that this library does not know: expected 0", "found 64",
     [](Error* error) { return ImportForged(96, 64, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has the flag IS_COPIED, which shared memory cannot have", nullptr,
     [](Error* error) { return ImportForged(48, 2, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
    {"the descriptor has a device, kind of memory and file descriptors that contradict each other",
     nullptr, [](Error* error) { return ImportForged(24, 1, error); }, DLBRIDGE_ERROR_DESCRIPTOR},
};

// --------------------------------------------------------------------------------- NULL pointers

// Every pointer that a function requires, by name.
const ArgumentCase kNullCases[] = {
    {"text must not be NULL", nullptr,
     [](Error* error) { return dlbridge_dtype_parse(nullptr, 0, nullptr, error); }},
    {"out must not be NULL", nullptr,
     [](Error* error) { return dlbridge_device_parse("cpu", 3, nullptr, error); }},
    {"tensor must not be NULL", nullptr,
     [](Error* error) { return dlbridge_validate(nullptr, 0, nullptr, error); }},
    {"source must not be NULL", nullptr,
     [](Error* error) { return dlbridge_upgrade(nullptr, nullptr, nullptr, error); }},
    {"spec must not be NULL", nullptr,
     [](Error* error) { return dlbridge_allocate(nullptr, nullptr, error); }},
    {"storage must not be NULL", nullptr,
     [](Error* error) {
       DLManagedTensor tensor = {};
       return dlbridge_upgrade_into(&tensor, nullptr, nullptr, nullptr, error);
     }},
    {"sources must not be NULL", nullptr,
     [](Error* error) {
       return dlbridge_upgrade_many(nullptr, 1, nullptr, nullptr, nullptr, error);
     }},
    {"outs must not be NULL", nullptr,
     [](Error* error) {
       DLManagedTensor* tensor = nullptr;
       return dlbridge_upgrade_many(&tensor, 1, nullptr, nullptr, nullptr, error);
     }},
    {"out_kind must not be NULL", nullptr,
     [](Error* error) {
       DLManagedTensor tensor = {};
       void* out = nullptr;
       return dlbridge_export(&tensor, DLBRIDGE_KIND_LEGACY, {1, 0}, nullptr, &out, nullptr, error);
     }},
    {"count must not be NULL", nullptr,
     [](Error* error) {
       const DLTensor tensor = {};
       return dlbridge_diagnose(&tensor, DLBRIDGE_KIND_BORROWED, 0, nullptr, nullptr, 0, nullptr,
                                error);
     }},
    {"chain must not be NULL", nullptr,
     [](Error* error) {
       return dlbridge_exchange_api_find(nullptr, {1, 0}, nullptr, error);
     }},
    {"kind must not be NULL", nullptr,
     [](Error* error) {
       return dlbridge_negotiate({1, 0}, {1, 0}, nullptr, nullptr, error);
     }},
    {"version must not be NULL", nullptr,
     [](Error* error) {
       DLBridgeKind kind = 0;
       return dlbridge_negotiate({1, 0}, {1, 0}, &kind, nullptr, error);
     }},
    {"address must not be NULL", nullptr,
     [](Error* error) { return dlbridge_module_pin(nullptr, error); }},
    {"buffer must not be NULL", nullptr,
     [](Error* error) { return dlbridge_pointer_info(nullptr, Device(kDLCPU), nullptr, error); }},
    {"producer must not be NULL", nullptr,
     [](Error* error) { return dlbridge_stream_handoff(nullptr, nullptr, 0, error); }},
    {"consumer must not be NULL", nullptr,
     [](Error* error) {
       const DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
       return dlbridge_stream_handoff(&stream, nullptr, 0, error);
     }},
    {"stream must not be NULL", nullptr,
     [](Error* error) { return dlbridge_stream_synchronize(nullptr, error); }},
    {"entry must not be NULL", nullptr,
     [](Error* error) { return dlbridge_context_register(nullptr, nullptr, error); }},
    {"id must not be NULL", nullptr,
     [](Error* error) {
       const DLBridgeContextEntry entry = OneApiEntry(903);
       return dlbridge_context_register(&entry, nullptr, error);
     }},
    {"cursor must not be NULL", nullptr,
     [](Error* error) { return dlbridge_context_next(nullptr, nullptr, error); }},
    {"sizes must not be NULL", nullptr,
     [](Error* error) {
       const DLManagedTensorVersioned tensor = {};
       const DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
       return dlbridge_ipc_export(&tensor, &spec, nullptr, error);
     }},
};

std::vector<ArgumentCase> AllArgumentCases() {
  std::vector<ArgumentCase> all;
  const auto add = [&all](const auto& cases) {
    all.insert(all.end(), std::begin(cases), std::end(cases));
  };
  add(kStructCases);
  add(kPolicyCases);
  add(kConvertCases);
  add(kOwnedCases);
  add(kStorageAndBatchCases);
  add(kViewAndAllocateCases);
  add(kTextCases);
  add(kVersionAndModuleCases);
  add(kWrapCases);
  add(kCopyCases);
  add(kStreamCases);
  add(kPendingCases);
  add(kPointerCases);
  add(kContextCases);
  add(kIpcCases);
  add(kNullCases);
  return all;
}

void ExpectBegins(const std::string& message, const std::string& begins) {
  ASSERT_EQ(message.rfind(begins, 0), 0U) << message;
  if (begins.back() == ' ') {
    ASSERT_LT(begins.size(), message.size()) << message;
    EXPECT_NE(std::isdigit(static_cast<unsigned char>(message[begins.size()])), 0) << message;
  }
}

TEST(ArgumentMessages, NameTheArgumentAndWhatWasFound) {
  for (const ArgumentCase& each : AllArgumentCases()) {
    SCOPED_TRACE(each.begins);
    Error error;
    EXPECT_EQ(each.call(&error), each.status) << error.message;
    EXPECT_EQ(error.status, each.status);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_NONE);
    ExpectBegins(error.message, each.begins);
    if (each.has != nullptr) {
      EXPECT_TRUE(error.Says(each.has)) << error.message;
    }
    ExpectWellFormed(error);
  }
}

// ------------------------------------------------------------------------------- completeness

// Arguments and problems that need a driver, a peer or a failing system, and the tests for them.
struct Untested {
  const char* text;
  const char* why;
};
const Untested kUntested[] = {
    {"the allocator", "out_of_memory_test.cc"},
    {"spec.stream.backend", "opencl_pending_test.cc"},
    {"spec.buffer.context", "another thread unregisters it at the same moment"},
    {"the module of address", "the loader does not find a module again by its name"},
    {"spec.fd_capacity", "ipc_test.cc, with memory that can be shared"},
    {"the file descriptor", "ipc_test.cc"},
    {"the size of the memory file", "ipc_test.cc"},
    {"does not refer to a memory file (memfd)", "ipc_test.cc"},
    {"refers to a memory file that is not sealed against shrinking", "ipc_test.cc"},
    {"refers to a memory file with holes", "ipc_test.cc"},
    {"refers to a memory file whose pages cannot be loaded", "ipc_test.cc"},
    {"is not open for writing and reading, as a writable tensor needs; one that ", "ipc_test.cc"},
    {"does not permit the access that the descriptor states", "ipc_test.cc"},
    {"has a tensor that exceeds the memory it describes", "ipc_test.cc"},
    {"describes more memory than the driver mapped", "ipc_checks.h"},
    {"memory of the host", "a system without memory files"},
    {"fallocate", "the system fails"},
    {"sealing a memory file", "the system fails"},
    {"mmap", "the system fails"},
    {"memfd_create", "the system fails"},
    {"fcntl", "the system fails"},
    {"open of /proc/self/fd for reading", "the system fails"},
};

std::vector<std::filesystem::path> Sources() {
  const std::filesystem::path folder = TestsFolder().parent_path() / "src";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".cc" || extension == ".h") {
      files.push_back(entry.path());
    }
  }
  return files;
}

// The source files outside the drivers.
std::vector<std::filesystem::path> CoreSources() {
  const std::filesystem::path folder = TestsFolder().parent_path() / "src/device";
  std::vector<std::filesystem::path> files = Sources();
  const auto in_folder = [&folder](const std::filesystem::path& path) {
    return path.generic_string().rfind(folder.generic_string() + "/", 0) == 0;
  };
  files.erase(std::remove_if(files.begin(), files.end(), in_folder), files.end());
  return files;
}

std::set<std::string> FindInSources(const std::vector<std::regex>& patterns) {
  std::set<std::string> found;
  for (const std::filesystem::path& path : CoreSources()) {
    const std::string text = ReadText(path);
    for (const std::regex& pattern : patterns) {
      for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
        found.insert(i->str(1));
      }
    }
  }
  return found;
}

// The arguments that rejections, checks and required pointers name.
const std::set<std::string>& ArgumentsOfTheSources() {
  static const std::set<std::string> found = FindInSources(
      {std::regex("Reject(?:Argument|Status|Value|Enum|Device|Version|Size|Other|StructSize|Tail|"
                  "Duplicate|Options|Signed|Unsigned|Backend|System)\\("
                  "\\s*error,\\s*(?:DLBRIDGE_ERROR_[A-Z_]+,\\s*)?\"([^\"]+)\""),
       std::regex("(?:CheckReserved|CheckStruct|CheckOut|CheckStream|CheckOptionBits|"
                  "CheckAllocator|CheckList|CheckResultVersion)\\([^;{?\"]*\"([^\"]+)\""),
       std::regex("DLBRIDGE_REQUIRE\\(([a-z_]+)\\);")});
  return found;
}

// Problems of a subject that the function states: a descriptor, a file, a text.
const std::set<std::string>& ProblemsOfTheSources() {
  static const std::set<std::string> found = FindInSources({std::regex(
      "Reject(?:Bytes|Number|Length|Descriptor|File|Text)\\(\\s*error,\\s*\"([^\"]+)\"")});
  return found;
}

bool Names(const std::string& message, const std::string& argument) {
  return message.rfind(argument, 0) == 0 &&
         (message.size() == argument.size() ||
          std::strchr(" :-[", message[argument.size()]) != nullptr);
}

std::set<std::string> UntestedTexts() {
  std::set<std::string> texts;
  for (const Untested& each : kUntested) {
    texts.insert(each.text);
  }
  return texts;
}

TEST(ArgumentMessages, EveryArgumentOfTheSourcesHasARow) {
  const std::set<std::string> untested = UntestedTexts();
  const std::vector<ArgumentCase> cases = AllArgumentCases();
  const std::set<std::string>& arguments = ArgumentsOfTheSources();
  EXPECT_GT(arguments.size(), 80U) << "the patterns find the rejections";
  for (const std::string& argument : arguments) {
    const auto names = [&argument](const ArgumentCase& row) { return Names(row.begins, argument); };
    EXPECT_TRUE(untested.count(argument) != 0 || std::any_of(cases.begin(), cases.end(), names))
        << argument;
  }
}

TEST(ArgumentMessages, EveryProblemOfTheSourcesHasARow) {
  const std::set<std::string> untested = UntestedTexts();
  const std::vector<ArgumentCase> cases = AllArgumentCases();
  const std::set<std::string>& problems = ProblemsOfTheSources();
  EXPECT_GT(problems.size(), 15U) << "the patterns find the rejections";
  for (const std::string& problem : problems) {
    const auto has = [&problem](const ArgumentCase& row) {
      return std::strstr(row.begins, problem.c_str()) != nullptr;
    };
    EXPECT_TRUE(untested.count(problem) != 0 || std::any_of(cases.begin(), cases.end(), has))
        << problem;
  }
}

TEST(ArgumentMessages, ExceptionsAreInTheSources) {
  std::set<std::string> known = ArgumentsOfTheSources();
  const std::set<std::string>& problems = ProblemsOfTheSources();
  known.insert(problems.begin(), problems.end());
  for (const Untested& each : kUntested) {
    EXPECT_EQ(known.count(each.text), 1U) << each.text << ": " << each.why;
  }
}

// The drivers' messages, too, which the tables above do not cover.
TEST(ArgumentMessages, EveryTextOfTheSourcesHasPlainWords) {
  const std::regex text("\"([^\"\\\\\n]+)\"");
  size_t texts = 0;
  for (const std::filesystem::path& path : Sources()) {
    const std::string source = ReadText(path);
    for (std::sregex_iterator i(source.begin(), source.end(), text), end; i != end; ++i) {
      ExpectPlainWords(i->str(1));
      ++texts;
    }
  }
  EXPECT_GT(texts, 1000U);
}

}  // namespace
}  // namespace dlbridge_test
