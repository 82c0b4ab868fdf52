// SPDX-License-Identifier: Apache-2.0
// A producer that changes its structs and arrays while other threads read them.
//
// Every combination of the values that it writes keeps the preconditions of the library: pointers
// are NULL or lead to memory that is readable as far as an accepted tensor can reach, and ends at
// unreadable pages there. It stores atomically, so that ThreadSanitizer reports exactly the loads
// of the library that are not atomic.
#ifndef DLBRIDGE_TESTS_SUPPORT_RACING_PRODUCER_H_
#define DLBRIDGE_TESTS_SUPPORT_RACING_PRODUCER_H_

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "dlbridge/dlbridge.h"
#include "support/pages.h"
#include "support/scale.h"

#ifndef _WIN32
#include <sys/time.h>
#include <csignal>
#endif

namespace dlbridge_test {

// The time for one function: DLBRIDGE_RACE_SECONDS, else 0.15 seconds.
inline std::chrono::duration<double> RaceTime() {
  const char* seconds = std::getenv("DLBRIDGE_RACE_SECONDS");
  return std::chrono::duration<double>(seconds != nullptr ? std::strtod(seconds, nullptr) : 0.15);
}

// Pages between two unreadable ones. `size` bytes lie at the end of them, or at the start.
class Fenced {
 public:
  explicit Fenced(size_t size) : size_(size) {
    const size_t page = PageSize();
    pages_ = (size + page - 1) / page * page;
    base_ = static_cast<char*>(MapPages(pages_ + 2 * page, Access::kWrite));
    EXPECT_NE(base_, nullptr);
    EXPECT_TRUE(ProtectPages(base_, page, Access::kNone));
    EXPECT_TRUE(ProtectPages(base_ + page + pages_, page, Access::kNone));
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { UnmapPages(base_, pages_ + 2 * PageSize()); }

  template <class T>
  T* at_end() const {
    return reinterpret_cast<T*>(base_ + PageSize() + pages_ - size_);
  }
  // All pages, as bytes.
  unsigned char* all() const { return reinterpret_cast<unsigned char*>(base_ + PageSize()); }
  size_t all_size() const { return pages_; }

 private:
  size_t size_;
  size_t pages_;
  char* base_;
};

template <class T>
void StoreRelaxed(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELAXED);
}
// The type of a store to a field of another type, such as an enumeration.
typedef uint32_t __attribute__((may_alias)) StoredWord;  // NOLINT(modernize-use-using)
inline void StoreWord(void* field, uint32_t value) {
  StoreRelaxed(static_cast<StoredWord*>(field), StoredWord{value});
}
inline uint32_t WordOf(DLDataType dtype) {
  uint32_t word = 0;
  std::memcpy(&word, &dtype, sizeof word);
  return word;
}

constexpr size_t kLegacyStructs = 3;
constexpr size_t kAxes = DLBRIDGE_MAX_NDIM;

class RacingProducer {
 public:
  // `handle` of `owned`, if given, is a dlbridge-owned struct, which is changed as well.
  explicit RacingProducer(DLManagedTensorVersioned* owned = nullptr) : owned_(owned) {
    for (Fenced& array : shapes_) {
      for (size_t i = 0; i < kAxes; ++i) {
        array.at_end<int64_t>()[i] = GoodExtent(i);
      }
    }
    for (Fenced& array : strides_) {
      for (size_t i = 0; i < kAxes; ++i) {
        array.at_end<int64_t>()[i] = 1;
      }
    }
    for (Fenced& block : blocks_) {
      std::memset(block.all(), 0x5a, block.all_size());
    }
    for (Fenced& memory : legacy_) {
      auto* managed = memory.at_end<DLManagedTensor>();
      managed->dl_tensor = Whole();
      managed->manager_ctx = nullptr;
      managed->deleter = DeleteLegacyStruct;
    }
    auto* managed = versioned_.at_end<DLManagedTensorVersioned>();
    *managed = {{1, 3}, nullptr, DeleteVersionedStruct, 0, Whole()};
    if (owned_ != nullptr) {
      whole_owned_ = *owned_;
    }
  }

  DLManagedTensor* legacy(size_t number = 0) const {
    return legacy_.at(number).at_end<DLManagedTensor>();
  }
  DLManagedTensorVersioned* versioned() const {
    return versioned_.at_end<DLManagedTensorVersioned>();
  }
  const int64_t* shape() const { return shapes_[0].at_end<int64_t>(); }
  const int64_t* strides() const { return strides_[0].at_end<int64_t>(); }
  unsigned char* block() const { return blocks_[0].all(); }
  size_t block_size() const { return blocks_[0].all_size(); }

  // Do `size` bytes at `address` lie in one of the blocks that `data` leads to?
  bool HasBytes(uintptr_t address, uint64_t size) const {
    for (const Fenced& block : blocks_) {
      const uintptr_t distance = address - reinterpret_cast<uintptr_t>(block.all());
      if (distance <= block.all_size() && size <= block.all_size() - distance) {
        return true;
      }
    }
    return false;
  }

  // Deleters of foreign structs that ran.
  static uint64_t Deletions() { return deletions_.load(); }

  // Deleters may be NULL from now on.
  void AllowNullDeleters() { null_deleters_ = true; }

  // Changes one field of each struct to a value that may be invalid, and mostly at once to a valid
  // one. So most reads meet a struct that is valid but for one or two fields.
  void ChangeOneField(Random* random) {
    ChangeArrays(random);
    for (Fenced& memory : legacy_) {
      auto* managed = memory.at_end<DLManagedTensor>();
      ChangeTensor(&managed->dl_tensor, random);
      StoreRelaxed(&managed->manager_ctx, random->OneIn(2) ? nullptr : static_cast<void*>(managed));
      StoreRelaxed(&managed->deleter, PickDeleter(DeleteLegacyStruct, DeleteLegacyToo, random));
    }
    ChangeVersioned(random);
    if (owned_ != nullptr) {
      ChangeOwned(random);
    }
  }

 private:
  static void DeleteLegacyStruct(DLManagedTensor* /*self*/) { deletions_.fetch_add(1); }
  static void DeleteLegacyToo(DLManagedTensor* /*self*/) { deletions_.fetch_add(1); }
  static void DeleteVersionedStruct(DLManagedTensorVersioned* /*self*/) { deletions_.fetch_add(1); }
  static void DeleteVersionedToo(DLManagedTensorVersioned* /*self*/) { deletions_.fetch_add(1); }

  template <class Deleter>
  Deleter* PickDeleter(Deleter* one, Deleter* other, Random* random) const {
    return null_deleters_ && random->OneIn(3) ? nullptr : random->OneIn(2) ? one : other;
  }

  static int64_t GoodExtent(size_t axis) { return axis < 3 ? static_cast<int64_t>(axis) + 1 : 1; }

  DLTensor Whole() const {
    return {blocks_[0].all(),
            {kDLCPU, 0},
            3,
            {kDLFloat, 32, 1},
            shapes_[0].at_end<int64_t>(),
            strides_[0].at_end<int64_t>(),
            0};
  }

  // Writes to one entry an invalid value and then a valid one.
  void ChangeArrays(Random* random) {
    constexpr int64_t kHuge = int64_t{1} << 62;
    static constexpr int64_t kBadExtents[] = {-1, INT64_MIN, INT64_MAX, kHuge};
    static constexpr int64_t kBadStrides[] = {-1, INT64_MIN, INT64_MAX, kHuge, 1 << 20};
    static constexpr int64_t kGoodStrides[] = {0, 1, 2, 3, 6, 9};
    const auto axis = static_cast<size_t>(random->Between(0, random->OneIn(2) ? 4 : kAxes - 1));
    int64_t* extent = random->Pick(shapes_).at_end<int64_t>() + axis;
    int64_t* stride = random->Pick(strides_).at_end<int64_t>() + axis;
    if (random->OneIn(4)) {
      StoreRelaxed(extent, random->Pick(kBadExtents));
      StoreRelaxed(stride, random->Pick(kBadStrides));
      if (axis < 5 && random->OneIn(4)) {
        return;
      }
    }
    StoreRelaxed(extent, axis < 3 ? random->Between(0, 3) : random->OneIn(50) ? 2 : 1);
    StoreRelaxed(stride, random->Pick(kGoodStrides));
  }

  void ChangeTensor(DLTensor* tensor, Random* random) {
    if (random->OneIn(2)) {
      ChangeCodes(tensor, random);
    } else {
      ChangePointers(tensor, random);
    }
  }

  static void ChangeCodes(DLTensor* tensor, Random* random) {
    static constexpr int32_t kBadNdims[] = {-1, INT32_MIN, INT32_MAX, 65, 4096};
    static constexpr int32_t kGoodNdims[] = {0, 1, 2, 3, 5, 7, 33, 64};
    // None of them has a backend, which would look for a driver.
    static constexpr uint32_t kBadTypes[] = {0, kDLVulkan, kDLMetal, 99, UINT32_MAX};
    static constexpr DLDataType kBadDtypes[] = {{kDLFloat, 0, 1},    {kDLInt, 32, 0},
                                                {kDLInt, 8, 0x8000}, {99, 8, 1},
                                                {kDLBool, 1, 1},     {kDLUInt, 255, 0x7fff}};
    static constexpr DLDataType kGoodDtypes[] = {
        {kDLFloat, 32, 1}, {kDLUInt, 8, 1}, {kDLInt, 4, 1}, {kDLFloat, 64, 2}, {kDLBool, 8, 1}};
    if (random->OneIn(4)) {
      StoreRelaxed(&tensor->ndim, random->Pick(kBadNdims));
      StoreWord(&tensor->device.device_type, random->Pick(kBadTypes));
      StoreRelaxed(&tensor->device.device_id, -1);
      StoreWord(&tensor->dtype, WordOf(random->Pick(kBadDtypes)));
      if (random->OneIn(4)) {
        return;
      }
    }
    StoreRelaxed(&tensor->ndim, random->Pick(kGoodNdims));
    StoreWord(&tensor->device.device_type, kDLCPU);
    StoreRelaxed(&tensor->device.device_id, 0);
    StoreWord(&tensor->dtype, WordOf(random->Pick(kGoodDtypes)));
  }

  void ChangePointers(DLTensor* tensor, Random* random) {
    static constexpr uint64_t kBadOffsets[] = {uint64_t{1} << 63, UINT64_MAX, 1 << 20};
    static constexpr uint64_t kGoodOffsets[] = {0, 4, 64, 1024};
    if (random->OneIn(4)) {
      StoreRelaxed(&tensor->data, static_cast<void*>(nullptr));
      StoreRelaxed(&tensor->shape, static_cast<int64_t*>(nullptr));
      StoreRelaxed(&tensor->byte_offset, random->Pick(kBadOffsets));
      if (random->OneIn(4)) {
        return;
      }
    }
    StoreRelaxed(&tensor->data, static_cast<void*>(random->Pick(blocks_).all()));
    StoreRelaxed(&tensor->shape, random->Pick(shapes_).at_end<int64_t>());
    StoreRelaxed(&tensor->strides,
                 random->OneIn(8) ? nullptr : random->Pick(strides_).at_end<int64_t>());
    StoreRelaxed(&tensor->byte_offset, random->Pick(kGoodOffsets));
  }

  void ChangeVersioned(Random* random) {
    auto* managed = versioned_.at_end<DLManagedTensorVersioned>();
    static constexpr uint32_t kMinors[] = {0, 1, 2, 3, 3, 3, 9, UINT32_MAX};
    if (random->OneIn(4)) {
      StoreRelaxed(&managed->version.major, random->OneIn(2) ? 2U : UINT32_MAX);
      StoreRelaxed(&managed->flags, random->Bits());
    }
    StoreRelaxed(&managed->version.major, 1U);
    StoreRelaxed(&managed->version.minor, random->Pick(kMinors));
    StoreRelaxed(&managed->flags, random->Bits() & 7U);
    StoreRelaxed(&managed->manager_ctx, random->OneIn(2) ? nullptr : static_cast<void*>(managed));
    StoreRelaxed(&managed->deleter, PickDeleter(DeleteVersionedStruct, DeleteVersionedToo, random));
    ChangeTensor(&managed->dl_tensor, random);
  }

  // The owner of a dlbridge-owned struct may set READ_ONLY. Other changes are reported, so each of
  // them is undone soon; the arrays are the owner's, too.
  void ChangeOwned(Random* random) {
    DLTensor* tensor = &owned_->dl_tensor;
    const DLTensor& whole = whole_owned_.dl_tensor;
    if (random->OneIn(4)) {
      ChangeVersionedHead(random);
      ChangeTensor(tensor, random);
    }
    StoreRelaxed(&owned_->version.major, whole_owned_.version.major);
    StoreRelaxed(&owned_->version.minor, whole_owned_.version.minor);
    StoreRelaxed(&owned_->flags, whole_owned_.flags);
    StoreRelaxed(&tensor->data, whole.data);
    StoreWord(&tensor->device.device_type, whole.device.device_type);
    StoreRelaxed(&tensor->device.device_id, whole.device.device_id);
    StoreRelaxed(&tensor->ndim, whole.ndim);
    StoreWord(&tensor->dtype, WordOf(whole.dtype));
    StoreRelaxed(&tensor->shape, whole.shape);
    StoreRelaxed(&tensor->strides, whole.strides);
    StoreRelaxed(&tensor->byte_offset, whole.byte_offset);
    const int64_t axis = random->Between(0, whole.ndim - 1);
    StoreRelaxed(whole.shape + axis, random->OneIn(8) ? int64_t{-1} : random->Between(0, 2));
    StoreRelaxed(whole.strides + axis, random->Between(-1, 4));
  }

  void ChangeVersionedHead(Random* random) {
    StoreRelaxed(&owned_->version.major, random->OneIn(2) ? 1U : 2U);
    StoreRelaxed(&owned_->version.minor, static_cast<uint32_t>(random->Between(0, 4)));
    StoreRelaxed(&owned_->flags, random->Bits() & 15U);
  }

  static inline std::atomic<uint64_t> deletions_{0};

  std::array<Fenced, 2> shapes_{Fenced(kAxes * sizeof(int64_t)), Fenced(kAxes * sizeof(int64_t))};
  std::array<Fenced, 2> strides_{Fenced(kAxes * sizeof(int64_t)), Fenced(kAxes * sizeof(int64_t))};
  std::array<Fenced, 2> blocks_{Fenced(4096), Fenced(4096)};
  std::array<Fenced, kLegacyStructs> legacy_{Fenced(sizeof(DLManagedTensor)),
                                             Fenced(sizeof(DLManagedTensor)),
                                             Fenced(sizeof(DLManagedTensor))};
  Fenced versioned_{sizeof(DLManagedTensorVersioned)};
  DLManagedTensorVersioned* owned_;
  DLManagedTensorVersioned whole_owned_ = {};
  std::atomic<bool> null_deleters_{false};
};

#ifdef _WIN32

class Interrupting {
 public:
  explicit Interrupting(RacingProducer* /*producer*/) {}
};
class WithoutInterrupts {};

#else

// While it lives, a timer interrupts this thread every 200 microseconds
// (less often where Scale() is small), and the handler changes
// fields. So fields change in the middle of calls also where a machine seldom runs two threads at
// once.
class Interrupting {
 public:
  explicit Interrupting(RacingProducer* producer) {
    producer_.store(producer);
    struct sigaction action = {};
    action.sa_handler = Change;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    SetTimer(Scale() < 1 ? 5000 : 200);
  }
  Interrupting(const Interrupting&) = delete;
  Interrupting& operator=(const Interrupting&) = delete;
  // The handler stays: a last signal may arrive later.
  ~Interrupting() {
    SetTimer(0);
    producer_.store(nullptr);
  }

 private:
  static void Change(int /*signal*/) {
    static Random random(11);
    RacingProducer* producer = producer_.load();
    if (producer != nullptr) {
      producer->ChangeOneField(&random);
    }
  }
  static void SetTimer(int microseconds) {
    const timeval interval = {0, microseconds};
    const itimerval timer = {interval, interval};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }

  static inline std::atomic<RacingProducer*> producer_{nullptr};
};

// Threads that are started while it lives are never interrupted.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &before_);
  }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;
  ~WithoutInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

#endif

// Changes the producer's fields on another thread while it lives.
class Writer {
 public:
  explicit Writer(RacingProducer* producer) {
    const WithoutInterrupts guard;
    static_cast<void>(guard);
    thread_ = std::thread([this, producer] {
      Random random(7);
      while (!stop_.load(std::memory_order_relaxed)) {
        producer->ChangeOneField(&random);
        started_.store(true, std::memory_order_relaxed);
      }
    });
    while (!started_.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<bool> started_{false};
  std::thread thread_;
};

// Calls `call` for RaceTime, at least 200 times, and until `accepted` is not 0, while fields
// change. On a busy machine one state of the fields may last as long as RaceTime. Returns the
// number of calls.
template <class Call>
uint64_t WhileFieldsChange(RacingProducer* producer, const uint64_t& accepted, Call call) {
  const Writer writer(producer);
  const Interrupting interrupting(producer);
  const auto end = std::chrono::steady_clock::now() + RaceTime();
  uint64_t calls = 0;
  while ((calls < 200 || accepted == 0 || std::chrono::steady_clock::now() < end) &&
         !testing::Test::HasFailure()) {
    for (int i = 0; i < 16 && !testing::Test::HasFailure(); ++i) {
      call();
      ++calls;
    }
  }
  return calls;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_RACING_PRODUCER_H_
