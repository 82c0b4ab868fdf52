// SPDX-License-Identifier: Apache-2.0
// Model of ownership: what each tensor keeps alive, and which callbacks run when it ends.
#ifndef DLBRIDGE_TESTS_FUZZ_MODEL_OWNERS_H_
#define DLBRIDGE_TESTS_FUZZ_MODEL_OWNERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/model/tensor.h"

namespace dlbridge_fuzz {

// A callback of the program: the deleter of a source, the release of a storage, the deallocation of
// a block.
struct Event {
  enum class Of { kSource, kStorage, kBlock };
  Of of;
  size_t index;
  bool operator==(const Event& other) const { return of == other.of && index == other.index; }
};
using Events = std::vector<Event>;

inline std::string Text(const Events& events) {
  static constexpr const char* kNames[] = {"source ", "storage ", "block "};
  std::string text = "[";
  for (const Event& event : events) {
    text += text.size() > 1 ? ", " : "";
    text += kNames[static_cast<int>(event.of)] + std::to_string(event.index);
  }
  return text + "]";
}

constexpr int kNone = -1;

// A tensor that somebody owns: the caller, or another tensor that was made of it.
struct Owned {
  ModelTensor tensor;      // a library-made legacy tensor remembers its flags here
  void* object = nullptr;  // the struct
  int source = kNone;      // of a foreign tensor: its index
  int keep = kNone;        // of a library-made tensor: what it keeps alive
  int storage = kNone;     // that the struct is in
  bool wraps = false;      // a legacy tensor that still describes the tensor it was made of
  uint32_t minor = 0;      // of a library-made legacy tensor: version of what it was made of
  bool live = true;        // owned by the caller
  bool is_foreign() const { return keep == kNone; }
};

// What the owners of one memory keep alive: another tensor, or a block.
struct Keep {
  int owners = 1;
  int tensor = kNone;
  int block = kNone;   // of the program's allocator
  int region = kNone;  // that may be read while it is kept
};

struct Owners {
  std::vector<Owned> tensors;
  std::vector<Keep> keeps;

  // The callbacks that run when the tensor's owner releases it.
  void Release(int index, Events* out) {
    Owned& tensor = tensors[static_cast<size_t>(index)];
    tensor.live = false;
    if (tensor.is_foreign()) {
      out->push_back({Event::Of::kSource, static_cast<size_t>(tensor.source)});
      return;
    }
    const int storage = tensor.storage;
    Leave(tensor.keep, out);
    if (storage != kNone) {
      out->push_back({Event::Of::kStorage, static_cast<size_t>(storage)});
    }
  }

 private:
  void Leave(int keep, Events* out) {
    Keep& kept = keeps[static_cast<size_t>(keep)];
    if (--kept.owners != 0) {
      return;
    }
    if (kept.tensor != kNone) {
      Release(kept.tensor, out);
    } else if (kept.block != kNone) {
      out->push_back({Event::Of::kBlock, static_cast<size_t>(kept.block)});
    }
  }
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_MODEL_OWNERS_H_
