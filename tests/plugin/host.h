// SPDX-License-Identifier: Apache-2.0
// A host that loads plugins, takes their tensors and closes them.
#ifndef DLBRIDGE_TESTS_PLUGIN_HOST_H_
#define DLBRIDGE_TESTS_PLUGIN_HOST_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "plugin/plugin.h"

namespace dlbridge_test {

// True if the file is loaded. The query neither loads nor keeps it.
inline bool IsLoaded(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) {
    dlclose(handle);
  }
  return handle != nullptr;
}

class Plugin {
 public:
  explicit Plugin(const std::string& path)
      : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { Close(); }

  DLManagedTensorVersioned* Make(int* deletions = nullptr) const {
    return Call<DLManagedTensorVersioned>("plugin_make", deletions);
  }
  DLManagedTensor* MakeLegacy(int* deletions) const {
    return Call<DLManagedTensor>("plugin_make_legacy", deletions);
  }

  void Close() {
    if (handle_ != nullptr) {
      EXPECT_EQ(dlclose(handle_), 0);
      handle_ = nullptr;
    }
  }
  bool IsLoaded() const { return dlbridge_test::IsLoaded(path_); }

 private:
  template <class Managed>
  Managed* Call(const char* name, int* deletions) const {
    auto* make = reinterpret_cast<Managed* (*)(int*)>(dlsym(handle_, name));
    Managed* tensor = make == nullptr ? nullptr : make(deletions);
    EXPECT_NE(tensor, nullptr) << path_ << ": " << name;
    return tensor;
  }

  std::string path_;
  void* handle_;
};

// True if it holds the elements that plugin.h states.
inline bool HoldsTheSix(const DLTensor& tensor) {
  const auto* values = static_cast<const float*>(tensor.data);
  bool right = tensor.ndim == 2 && tensor.shape[0] == 2 && tensor.shape[1] == 3;
  for (int i = 0; right && i < 6; ++i) {
    right = values[i] == static_cast<float>(i);
  }
  return right;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_PLUGIN_HOST_H_
