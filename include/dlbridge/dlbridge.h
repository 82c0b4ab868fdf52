/*
 * SPDX-License-Identifier: Apache-2.0
 * dlbridge: upgrade, downgrade, validate, negotiate, identify, wrap, copy and share DLPack tensors.
 *
 * The whole public C ABI, for C99 and C++11 and later, on 64-bit little-endian targets.
 *
 * THREADS. Every function may be called from any thread at any time, also on the same object where
 * the parameter is `const`. An object that a call consumes is given to that call alone. Deleters may
 * run on any thread. No function takes a lock, keeps thread-local state, reads the environment,
 * prints, aborts or throws. Two exceptions: dlbridge_pin_module, also where a conversion asks for it,
 * takes the lock of the system's loader; and functions that ask a driver, see "Devices".
 *
 * PRECONDITIONS. A pointer that is given is readable as what it is said to be (and writable where it
 * is an output), and a managed tensor is live. Everything else is checked. A deleter or callback that
 * is given must return: it must not throw, nor leave by longjmp.
 *
 * OWNERSHIP. On DLBRIDGE_OK a consumed tensor has passed to the library and the result is the
 * caller's. On any error every input is untouched and still the caller's, no deleter and no callback
 * has been called, and no output but `*error` has been written. A deleter is called exactly once; a
 * NULL deleter is legal on input, and the outputs always have one, except where the original tensor
 * of a round trip is handed back as it was.
 *
 * ERRORS. A function that can fail returns a DLBridgeStatus and takes a DLBridgeError* last, which
 * may be NULL; success leaves it untouched. Where a comment says "any tensor error", the status is
 * the one of the broken rule (see DLBridgeRule). Every function that takes a pointer refuses NULL
 * with DLBRIDGE_ERROR_INVALID_ARGUMENT unless its comment allows NULL.
 *
 * GROWTH. A struct that the caller fills begins with `struct_size`, the size that the caller was
 * compiled with. Smaller than the first version, or reserved bytes that are not zero: refused with
 * DLBRIDGE_ERROR_INVALID_ARGUMENT. Larger than this build knows: accepted where the unknown tail is
 * zero, else DLBRIDGE_ERROR_STRUCT_TOO_NEW. Structs that the library fills are written up to the
 * smaller of both sizes.
 *
 * FOREIGN ENUMERATIONS (device types, dtype codes, flags) are integers: any value may arrive.
 */
#ifndef DLBRIDGE_DLBRIDGE_H_
#define DLBRIDGE_DLBRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#include "dlbridge/dlpack.h"

/* ---------------------------------------------------------------------------------------------
 * Version and linkage
 * ------------------------------------------------------------------------------------------- */

/** Version of this header, semantic. \since 0.1.0 */
#define DLBRIDGE_VERSION_MAJOR 0
#define DLBRIDGE_VERSION_MINOR 2
#define DLBRIDGE_VERSION_PATCH 0
#define DLBRIDGE_VERSION_STRING "0.2.0"

/** Number of the ABI that this header describes; apart from the version, it names what is frozen.
 * \since 0.1.0 */
#define DLBRIDGE_ABI 1

/** Marks what the shared library exports. Define DLBRIDGE_STATIC to link the static library, whose
 * symbols are hidden. \since 0.3.0 */
#if defined(DLBRIDGE_STATIC)
#define DLBRIDGE_API
#elif defined(_WIN32) && defined(DLBRIDGE_BUILDING)
#define DLBRIDGE_API __declspec(dllexport)
#elif defined(_WIN32)
#define DLBRIDGE_API __declspec(dllimport)
#elif defined(__GNUC__)
#define DLBRIDGE_API __attribute__((visibility("default")))
#else
#define DLBRIDGE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Statuses, rules, errors
 * ------------------------------------------------------------------------------------------- */

/** Outcome of a call; 0 is success. Values this header does not list may come from a newer library.
 * \since 0.1.0 */
typedef int32_t DLBridgeStatus;

/** \since 0.1.0 */
enum {
  /** Success. */
  DLBRIDGE_OK = 0,
  /** The caller's fault: a NULL that is not allowed, a `struct_size` smaller than the first version,
   * reserved bytes that are not zero, an option outside its range. The message names the argument. */
  DLBRIDGE_ERROR_INVALID_ARGUMENT = 1,
  /** The caller is newer than the library: a struct carries, behind all that this build knows,
   * settings that are not zero. They are never ignored in silence. */
  DLBRIDGE_ERROR_STRUCT_TOO_NEW = 2,
  /** The allocator, the system's or the caller's, returned NULL. Nobody's fault. */
  DLBRIDGE_ERROR_OUT_OF_MEMORY = 3,
  /** The producer's fault: the tensor breaks DLPack itself; `rule` says where. */
  DLBRIDGE_ERROR_INVALID_TENSOR = 4,
  /** Wrong major version, or the tensor needs a newer DLPack than the consumer speaks. */
  DLBRIDGE_ERROR_VERSION = 5,
  /** A legal tensor that the policy of this consumer refuses; `rule` says why. */
  DLBRIDGE_ERROR_POLICY = 6,
  /** The target cannot say what the source says, and the options do not allow the loss. */
  DLBRIDGE_ERROR_UNREPRESENTABLE = 7,
  /** A dtype code, device type or flag bit that no DLPack release knows, where knowing it matters. */
  DLBRIDGE_ERROR_UNKNOWN_CODE = 8,
  /** The function works on tensors of this library only: upgrade or adopt it first. */
  DLBRIDGE_ERROR_NOT_OURS = 9,
  /** Legal, but not something this build can do, such as copying memory that the CPU cannot read. */
  DLBRIDGE_ERROR_UNSUPPORTED = 10,
  /** The caller's buffer or storage is too small; the needed size is told. */
  DLBRIDGE_ERROR_BUFFER_TOO_SMALL = 11,
  /** A text is not the name of a dtype or device. */
  DLBRIDGE_ERROR_PARSE = 12,
  /** Nothing suitable was found, such as a table in an exchange API chain. */
  DLBRIDGE_ERROR_NOT_FOUND = 13,
  /** A view would leave the extent of its parent. */
  DLBRIDGE_ERROR_BOUNDS = 14,
  /** The process was forked after the backend had been started; start it in the child only.
   * \since 0.2.0 */
  DLBRIDGE_ERROR_FORKED = 15,
  /** No driver for the device, or none of its devices; dlbridge_backend_info tells why. \since 0.2.0 */
  DLBRIDGE_ERROR_UNAVAILABLE = 16,
  /** A driver's call failed; the message has its name and code. \since 0.2.0 */
  DLBRIDGE_ERROR_DRIVER = 17,
  /** The context table has another entry of that device or context. \since 0.2.0 */
  DLBRIDGE_ERROR_EXISTS = 18,
  /** A stream is capturing a graph, where that is not allowed. \since 0.2.0 */
  DLBRIDGE_ERROR_CAPTURE = 19,
  /** The bytes or file descriptors that another process sent are not an export. \since 0.2.0 */
  DLBRIDGE_ERROR_DESCRIPTOR = 20
};

/** Which rule a tensor broke, or 0. Values this header does not list may come from a newer library.
 * \since 0.1.0 */
typedef int32_t DLBridgeRule;

/** Behind each rule stands its source: "DLPack" is the specification, "policy" a field of
 * DLBridgePolicy, "dlbridge" a decision of this library. \since 0.1.0 */
enum {
  DLBRIDGE_RULE_NONE = 0,
  /** version.major is 1 (DLPack: read nothing behind `flags` otherwise). */
  DLBRIDGE_RULE_VERSION_MAJOR = 1,
  /** ndim >= 0 (DLPack). */
  DLBRIDGE_RULE_NDIM_NEGATIVE = 2,
  /** ndim <= max_ndim (policy, 64 by default). */
  DLBRIDGE_RULE_NDIM_LIMIT = 3,
  /** shape is given where ndim > 0 (DLPack). */
  DLBRIDGE_RULE_SHAPE_NULL = 4,
  /** strides are given where ndim > 0 and the tensor says 1.2 or later (DLPack 1.2). */
  DLBRIDGE_RULE_STRIDES_NULL = 5,
  /** bits >= 1 (dlbridge). */
  DLBRIDGE_RULE_DTYPE_BITS_ZERO = 6,
  /** lanes >= 1 (dlbridge). */
  DLBRIDGE_RULE_DTYPE_LANES_ZERO = 7,
  /** lanes < 0x8000: more is a scalable vector in TVM, whose size nobody here can know (dlbridge). */
  DLBRIDGE_RULE_DTYPE_LANES_SCALABLE = 8,
  /** bool and float8 have 8 bits, float6 6, float4 4, bfloat 16 (DLPack). */
  DLBRIDGE_RULE_DTYPE_BITS_FIXED = 9,
  /** The dtype code is known to the consumer's version. */
  DLBRIDGE_RULE_DTYPE_UNKNOWN = 10,
  /** The device type is known to the consumer's version. */
  DLBRIDGE_RULE_DEVICE_UNKNOWN = 11,
  /** All flag bits are known to the consumer's version. */
  DLBRIDGE_RULE_FLAGS_UNKNOWN = 12,
  /** device_id >= 0 (dlbridge). */
  DLBRIDGE_RULE_DEVICE_ID_NEGATIVE = 13,
  /** device_id is 0 on host-like memory (DLPack); only ever a note, since producers differ. */
  DLBRIDGE_RULE_DEVICE_ID_HOST = 14,
  /** Each extent >= 0 (DLPack). */
  DLBRIDGE_RULE_DIM_NEGATIVE = 15,
  /** The number of elements fits 63 bits (dlbridge). */
  DLBRIDGE_RULE_COUNT_OVERFLOW = 16,
  /** The packed size in bytes fits 63 bits (dlbridge). */
  DLBRIDGE_RULE_SIZE_OVERFLOW = 17,
  /** Offsets of the first and last byte touched fit 63 bits and a sign (dlbridge). */
  DLBRIDGE_RULE_EXTENT_OVERFLOW = 18,
  /** data is not NULL unless the tensor is empty (DLPack). */
  DLBRIDGE_RULE_DATA_NULL = 19,
  /** data + byte_offset + extent stays inside the address space (dlbridge). */
  DLBRIDGE_RULE_ADDRESS_RANGE = 20,
  /** On an opaque handle nothing lies before its start (dlbridge). */
  DLBRIDGE_RULE_HANDLE_RANGE = 21,
  /** The extent stays inside `buffer_size` bytes from `data` (policy). */
  DLBRIDGE_RULE_BUFFER_BOUNDS = 22,
  /** The required contiguity (policy). */
  DLBRIDGE_RULE_CONTIGUITY = 23,
  /** The required alignment of element (0,...,0) (policy). */
  DLBRIDGE_RULE_ALIGNMENT = 24,
  /** The device is one of those that the policy lists. */
  DLBRIDGE_RULE_DEVICE_REFUSED = 25,
  /** The dtype is one of those that the policy lists. */
  DLBRIDGE_RULE_DTYPE_REFUSED = 26,
  /** The tensor may be written to (policy). */
  DLBRIDGE_RULE_NOT_WRITABLE = 27,
  /** No negative strides (policy). */
  DLBRIDGE_RULE_NEGATIVE_STRIDE = 28,
  /** No zero strides on axes longer than 1 (policy). */
  DLBRIDGE_RULE_ZERO_STRIDE = 29,
  /** No two elements share memory, where the policy demands a writable tensor. */
  DLBRIDGE_RULE_SELF_OVERLAP = 30,
  /** Element (0,...,0) is aligned to its lane's size; only ever a note. */
  DLBRIDGE_RULE_DATA_UNALIGNED = 31,
  /** The version that a tensor carries knows all that it uses; only ever a note. */
  DLBRIDGE_RULE_VERSION_LABEL = 32,
  /** The consumer's version can describe the tensor (converters). */
  DLBRIDGE_RULE_REQUIRED_VERSION = 33,
  /** Legacy cannot say READ_ONLY (downgrade). */
  DLBRIDGE_RULE_LEGACY_READ_ONLY = 34,
  /** Legacy cannot say that sub-byte elements are padded (downgrade). */
  DLBRIDGE_RULE_LEGACY_PADDED = 35,
  /** Legacy knows dtype codes up to bool (downgrade). */
  DLBRIDGE_RULE_LEGACY_DTYPE = 36,
  /** Legacy knows device types up to Hexagon (downgrade). */
  DLBRIDGE_RULE_LEGACY_DEVICE = 37,
  /** byte_offset is folded only where `data` is an address (converters). */
  DLBRIDGE_RULE_OFFSET_FOLD = 38,
  /** A view stays inside its parent's extent. */
  DLBRIDGE_RULE_VIEW_BOUNDS = 39,
  /** A view of packed sub-byte elements starts at a whole byte. */
  DLBRIDGE_RULE_VIEW_OFFSET = 40,
  /** The tensor lives in the caller's storage (upgrade_into), which cannot have a second owner. */
  DLBRIDGE_RULE_IN_STORAGE = 41,
  /** Copying needs memory that the CPU can read. */
  DLBRIDGE_RULE_COPY_DEVICE = 42,
  /** The memory is where the device says (level DEVICE: the driver was asked). \since 0.2.0 */
  DLBRIDGE_RULE_DEVICE_LABEL = 43,
  /** The extent stays inside the allocation (level DEVICE: the driver was asked). \since 0.2.0 */
  DLBRIDGE_RULE_ALLOCATION_BOUNDS = 44
};

/** What went wrong; the caller's memory, nothing to free. 256 bytes for ever, so it may live on a
 * stack, in an array or in another language's struct. \since 0.1.0 */
typedef struct DLBridgeError {
  uint32_t struct_size;  /**< sizeof(DLBridgeError); any other value means: no error wanted. */
  DLBridgeStatus status; /**< The status that the call returned. */
  DLBridgeRule rule;     /**< The rule broken, or DLBRIDGE_RULE_NONE. */
  int32_t axis;          /**< Axis concerned, from 0; -1 where none applies. */
  char message[240];     /**< UTF-8, NUL-terminated: expected, found, what to do. */
} DLBridgeError;

/** Static initialiser. It clears 256 bytes: in a hot path use dlbridge_error_init. \since 0.1.0 */
#define DLBRIDGE_ERROR_INIT {(uint32_t)sizeof(DLBridgeError), DLBRIDGE_OK, DLBRIDGE_RULE_NONE, -1, {0}}

/** Makes `error` ready for a call; writes its first fields only. \since 0.1.0 */
static inline void dlbridge_error_init(DLBridgeError* error) {
  error->struct_size = (uint32_t)sizeof(DLBridgeError);
  error->status = DLBRIDGE_OK;
  error->rule = DLBRIDGE_RULE_NONE;
  error->axis = -1;
  error->message[0] = '\0';
}

/* ---------------------------------------------------------------------------------------------
 * Identity
 * ------------------------------------------------------------------------------------------- */

/** Version of the library that is loaded, as major * 10000 + minor * 100 + patch. \since 0.1.0 */
DLBRIDGE_API uint32_t dlbridge_version(void);

/** The same as text, such as "0.1.0"; static, never NULL. \since 0.1.0 */
DLBRIDGE_API const char* dlbridge_version_string(void);

/** Newest DLPack release that the library knows: 1.3. It is what a version of {0, 0} stands for in
 * policies and options. \since 0.1.0 */
DLBRIDGE_API DLPackVersion dlbridge_dlpack_version(void);

/** Name of a status such as "DLBRIDGE_ERROR_VERSION", for logs; static, never NULL ("UNKNOWN_STATUS"
 * for other integers). \since 0.1.0 */
DLBRIDGE_API const char* dlbridge_status_name(DLBridgeStatus status);

/** One English sentence on a status; static, never NULL. \since 0.1.0 */
DLBRIDGE_API const char* dlbridge_status_text(DLBridgeStatus status);

/** Name of a rule such as "NDIM_NEGATIVE"; static, never NULL ("UNKNOWN_RULE" for other integers).
 * \since 0.1.0 */
DLBRIDGE_API const char* dlbridge_rule_name(DLBridgeRule rule);

/** One English phrase on what is wrong when a rule is broken; static, never NULL. \since 0.1.0 */
DLBRIDGE_API const char* dlbridge_rule_text(DLBridgeRule rule);

/* ---------------------------------------------------------------------------------------------
 * Kinds and answers
 * ------------------------------------------------------------------------------------------- */

/** What a pointer points to. \since 0.1.0 */
typedef int32_t DLBridgeKind;

/** \since 0.1.0 */
enum {
  DLBRIDGE_KIND_AMBIGUOUS = 0, /**< The bytes do not tell (dlbridge_identify). */
  DLBRIDGE_KIND_LEGACY = 1,    /**< DLManagedTensor */
  DLBRIDGE_KIND_VERSIONED = 2, /**< DLManagedTensorVersioned */
  DLBRIDGE_KIND_BARE = 3       /**< DLTensor, borrowed (dlbridge_diagnose) */
};

/** Answer to a question that cannot always be answered. \since 0.1.0 */
typedef int32_t DLBridgeAnswer;

/** \since 0.1.0 */
enum { DLBRIDGE_NO = 0, DLBRIDGE_YES = 1, DLBRIDGE_UNDECIDED = 2 };

/* ---------------------------------------------------------------------------------------------
 * Describe: metadata only, `data` is never touched
 * ------------------------------------------------------------------------------------------- */

/** Bits of DLBridgeLayout::flags. \since 0.1.0 */
enum {
  DLBRIDGE_LAYOUT_EMPTY = 1 << 0,            /**< An extent is 0. */
  DLBRIDGE_LAYOUT_C_CONTIGUOUS = 1 << 1,     /**< Compact, last axis fastest; always so if empty. */
  DLBRIDGE_LAYOUT_F_CONTIGUOUS = 1 << 2,     /**< Compact, first axis fastest; always so if empty. */
  DLBRIDGE_LAYOUT_BROADCAST = 1 << 3,        /**< Some axis longer than 1 has stride 0. */
  DLBRIDGE_LAYOUT_NEGATIVE_STRIDES = 1 << 4, /**< Some axis longer than 1 has a negative stride. */
  DLBRIDGE_LAYOUT_PADDED = 1 << 5,           /**< Elements of less than a byte fill a whole one. */
  DLBRIDGE_LAYOUT_OPAQUE = 1 << 6            /**< `data` is a handle, not an address. */
};

/** How a tensor lies in memory. Axes of extent 1 never count, whatever their stride. \since 0.1.0 */
typedef struct DLBridgeLayout {
  uint32_t struct_size;         /**< In: sizeof(DLBridgeLayout). */
  uint32_t flags;               /**< DLBRIDGE_LAYOUT_* */
  uint32_t item_bits;           /**< Bits from one element to the next: bits * lanes, rounded up to
                                     whole bytes where the padded flag is set. */
  DLBridgeAnswer self_overlap;  /**< Do two elements share memory? Exact up to 4 axes, then within a
                                     bounded effort. */
  int64_t element_count;        /**< Product of the extents; 1 for a scalar. */
  int64_t packed_bytes;         /**< Bytes of the same elements laid out compactly. */
  int64_t begin;                /**< First byte touched, relative to data + byte_offset; <= 0. */
  int64_t end;                  /**< Behind the last byte touched; 0, 0 when empty. */
  uint64_t broadcast_axes;      /**< Bit i: axis i, below 64, is longer than 1 and has stride 0. */
  uint64_t negative_axes;       /**< Bit i: axis i, below 64, is longer than 1, stride negative. */
  uint64_t alignment;           /**< Largest power of two that divides the address of element
                                     (0,...,0); of byte_offset where `data` is a handle; 0 if that
                                     address is 0. */
} DLBridgeLayout;

/** Static initialiser. \since 0.1.0 */
#define DLBRIDGE_LAYOUT_INIT \
  {(uint32_t)sizeof(DLBridgeLayout), 0, 0, DLBRIDGE_NO, 0, 0, 0, 0, 0, 0, 0}

/** Describes the layout of `tensor`, whose `flags` come from its versioned struct (0 otherwise).
 * Reads shape and strides; refuses what has no layout (rules on ndim, dtype bits and lanes, shape,
 * overflow) and accepts any device, id, data pointer and version. Any tensor error. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_layout(const DLTensor* tensor, uint64_t flags,
                                            DLBridgeLayout* out, DLBridgeError* error);

/** Writes the name of `dtype`: "float32", "bfloat16x4", "float8_e4m3fn", "bool", "complex64",
 * "opaque64"; what has no name as "dtype(code,bits,lanes)". Every name is read back by
 * dlbridge_dtype_parse.
 *
 * `buffer` of `size` bytes receives text and NUL; it may be NULL where size is 0, to ask for the
 * length. `*length`, unless NULL, receives the length without NUL, also when the text did not fit:
 * then as much as fits is written, with NUL, and the status is DLBRIDGE_ERROR_BUFFER_TOO_SMALL.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_dtype_format(DLDataType dtype, char* buffer, size_t size,
                                                  size_t* length, DLBridgeError* error);

/** Reads a name of `length` bytes as dlbridge_dtype_format writes it. Errors: PARSE. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_dtype_parse(const char* text, size_t length, DLDataType* out,
                                                 DLBridgeError* error);

/** Writes the name of `device`, "cpu:0", "cuda:1", "rocm_host:0"; a type without a name as
 * "device(99):0". Buffer and length as for dlbridge_dtype_format. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_format(DLDevice device, char* buffer, size_t size,
                                                   size_t* length, DLBridgeError* error);

/** Reads a name of `length` bytes as dlbridge_device_format writes it; "cuda" means "cuda:0".
 * Errors: PARSE. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_parse(const char* text, size_t length, DLDevice* out,
                                                  DLBridgeError* error);

/** Writes one line on `tensor` for logs: dtype, shape, strides, device, data, byte offset, flags.
 * Works on broken tensors too (it reads no shape where ndim is negative, and at most 64 axes).
 * Buffer and length as for dlbridge_dtype_format. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_tensor_format(const DLTensor* tensor, uint64_t flags,
                                                   char* buffer, size_t size, size_t* length,
                                                   DLBridgeError* error);

/** Can the CPU read memory of this device type? DLBRIDGE_UNDECIDED where it depends on the
 * allocation (oneAPI) or nobody knows (types of no release). \since 0.1.0 */
DLBRIDGE_API DLBridgeAnswer dlbridge_host_accessible(int32_t device_type);

/* ---------------------------------------------------------------------------------------------
 * Validate
 * ------------------------------------------------------------------------------------------- */

/** How much memory a validation reads. \since 0.1.0 */
enum {
  /** The struct itself: version, ndim, dtype, device, flags, which pointers are NULL. */
  DLBRIDGE_LEVEL_STRUCT = 1,
  /** Also the `ndim` entries of shape and strides; the default. */
  DLBRIDGE_LEVEL_METADATA = 2,
  /** Also asks the driver where `data` lies (a handle: what it is), which may start it: a device label
   * that is not true and an extent that leaves the allocation are refused, as is what cannot be asked
   * (UNAVAILABLE, UNSUPPORTED). kDLCPU is held against the drivers that have been started already, and
   * memory whose size no driver knows against no size. \since 0.2.0 */
  DLBRIDGE_LEVEL_DEVICE = 3
};

/** Bits of DLBridgePolicy::flags. \since 0.1.0 */
enum {
  DLBRIDGE_POLICY_REFUSE_UNKNOWN_DTYPE = 1 << 0,  /**< Codes that `version` does not know. */
  DLBRIDGE_POLICY_REFUSE_UNKNOWN_DEVICE = 1 << 1, /**< Types that `version` does not know. */
  DLBRIDGE_POLICY_REFUSE_UNKNOWN_FLAGS = 1 << 2,  /**< Bits that `version` does not know. */
  DLBRIDGE_POLICY_REFUSE_NEGATIVE_STRIDES = 1 << 3,
  DLBRIDGE_POLICY_REFUSE_ZERO_STRIDES = 1 << 4,
  DLBRIDGE_POLICY_ALLOW_NULL_STRIDES = 1 << 5,    /**< Also on tensors that say 1.2 or later. */
  DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES = 1 << 6,  /**< lanes >= 0x8000, taken at face value. */
  DLBRIDGE_POLICY_REQUIRE_WRITABLE = 1 << 7,      /**< Not READ_ONLY, no self-overlap. */
  DLBRIDGE_POLICY_VOUCH_WRITABLE = 1 << 8,        /**< The caller knows that a legacy or bare tensor
                                                       may be written to; READ_ONLY still binds. */
  DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP = 1 << 9     /**< Even where a writable tensor is required. */
};

/** Values of DLBridgePolicy::contiguity. \since 0.1.0 */
enum {
  DLBRIDGE_CONTIGUITY_ANY = 0,
  DLBRIDGE_CONTIGUITY_C = 1,
  DLBRIDGE_CONTIGUITY_F = 2,
  DLBRIDGE_CONTIGUITY_C_OR_F = 3
};

/** What a consumer demands of a tensor. Start from DLBRIDGE_POLICY_INIT, which is the policy that a
 * NULL pointer stands for. The arrays are borrowed for the call. At DLBRIDGE_LEVEL_STRUCT a demand
 * that needs shape or strides is refused as an invalid argument, never ignored. \since 0.1.0 */
typedef struct DLBridgePolicy {
  uint32_t struct_size;      /**< sizeof(DLBridgePolicy) */
  int32_t level;             /**< DLBRIDGE_LEVEL_*; METADATA by default. */
  DLPackVersion version;     /**< Newest DLPack that the consumer speaks; {0, 0}: the newest release. */
  uint32_t flags;            /**< DLBRIDGE_POLICY_* */
  int32_t max_ndim;          /**< Largest ndim accepted; 64 by default. */
  int32_t contiguity;        /**< DLBRIDGE_CONTIGUITY_* */
  uint32_t reserved0;        /**< 0 */
  uint64_t alignment;        /**< Bytes, a power of two, that the address of element (0,...,0) must
                                  be a multiple of; 0: any. An empty tensor meets any. */
  uint64_t buffer_size;      /**< Bytes at `data` that the extent must stay inside; UINT64_MAX: not
                                  checked. */
  const DLDevice* devices;   /**< Devices accepted, with id -1 for any id; NULL: all. */
  size_t device_count;       /**< Entries of `devices`; 0 where that is NULL. */
  const DLDataType* dtypes;  /**< Dtypes accepted, compared exactly; NULL: all. */
  size_t dtype_count;        /**< Entries of `dtypes`; 0 where that is NULL. */
  uint64_t reserved[2];      /**< 0 */
} DLBridgePolicy;

/** Static initialiser: the default policy. \since 0.1.0 */
#define DLBRIDGE_POLICY_INIT                                                             \
  {(uint32_t)sizeof(DLBridgePolicy), DLBRIDGE_LEVEL_METADATA, {0, 0}, 0, 64,             \
   DLBRIDGE_CONTIGUITY_ANY, 0, 0, UINT64_MAX, NULL, 0, NULL, 0, {0, 0}}

/** Checks a bare tensor, whose `flags` the caller knows (0 if not). `policy` may be NULL. Stops at
 * the first broken rule. The tensor is only read. Any tensor error. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_validate(const DLTensor* tensor, uint64_t flags,
                                              const DLBridgePolicy* policy, DLBridgeError* error);

/** The same for a legacy tensor, which has no flags. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_validate_legacy(const DLManagedTensor* tensor,
                                                     const DLBridgePolicy* policy,
                                                     DLBridgeError* error);

/** The same for a versioned tensor; of a major other than 1 nothing but `version` is read.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_validate_versioned(const DLManagedTensorVersioned* tensor,
                                                        const DLBridgePolicy* policy,
                                                        DLBridgeError* error);

/** How bad a finding is. \since 0.1.0 */
enum {
  DLBRIDGE_SEVERITY_BROKEN = 1, /**< dlbridge_validate would refuse the tensor for it. */
  DLBRIDGE_SEVERITY_NOTE = 2    /**< Only worth knowing. */
};

/** One thing found about a tensor; 128 bytes for ever. \since 0.1.0 */
typedef struct DLBridgeFinding {
  DLBridgeRule rule;     /**< DLBRIDGE_RULE_* */
  int32_t axis;          /**< Axis concerned, or -1. */
  int32_t severity;      /**< DLBRIDGE_SEVERITY_* */
  DLBridgeStatus status; /**< What dlbridge_validate would return for it; 0 for a note. */
  char expected[56];     /**< Such as "at least 0"; NUL-terminated. */
  char found[56];        /**< Such as "-3"; NUL-terminated. */
} DLBridgeFinding;

/** Reports every finding on `tensor`, a struct of `kind` (LEGACY, VERSIONED or BARE; `flags` is for
 * BARE and 0 otherwise). Fills up to `capacity` entries of `findings` (NULL where capacity is 0) and
 * sets `*count` to how many findings there are, which may be more. A finding that makes the rest
 * unreadable is the last. DLBRIDGE_OK also where rules are broken: errors are about the arguments
 * only. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_diagnose(const void* tensor, DLBridgeKind kind, uint64_t flags,
                                              const DLBridgePolicy* policy,
                                              DLBridgeFinding* findings, size_t capacity,
                                              size_t* count, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Convert
 * ------------------------------------------------------------------------------------------- */

/** Memory of the caller's choice. `allocate` gets the bytes wanted (never 0) and a power of two, and
 * returns memory of `device` or NULL; `deallocate` gets the same values back, once, from any thread,
 * possibly much later. Both functions are copied from this struct; `context` must outlive the memory.
 * \since 0.1.0 */
typedef struct DLBridgeAllocator {
  uint32_t struct_size; /**< sizeof(DLBridgeAllocator) */
  uint32_t reserved0;   /**< 0 */
  void* context;        /**< Passed to both functions; may be NULL. */
  void* (*allocate)(void* context, DLDevice device, uint64_t bytes, uint64_t alignment);
  void (*deallocate)(void* context, DLDevice device, void* memory, uint64_t bytes,
                     uint64_t alignment);
} DLBridgeAllocator;

/** Static initialiser. \since 0.1.0 */
#define DLBRIDGE_ALLOCATOR_INIT {(uint32_t)sizeof(DLBridgeAllocator), 0, NULL, NULL, NULL}

/** Bits of DLBridgeConvertOptions::flags. \since 0.1.0 */
enum {
  /** The caller vouches for the tensor: validation is skipped (but for ndim and NULL shape, without
   * which no node can be made, and not together with COPY, which reads by the layout). The policy
   * must be NULL then. */
  DLBRIDGE_CONVERT_SKIP_VALIDATION = 1 << 0,
  /** The caller knows that a legacy source may be written to. Without it, unknown is READ_ONLY. Does
   * not lift a READ_ONLY that the original of a round trip carries. */
  DLBRIDGE_CONVERT_WRITABLE = 1 << 1,
  /** Dtype codes, device types and flag bits that the consumer's version does not know pass; a
   * versioned source then keeps its version, since an unknown bit may change the layout. */
  DLBRIDGE_CONVERT_ALLOW_UNKNOWN = 1 << 2,
  /** Write the result in canonical form: compact strides on empty tensors and on axes of extent 1,
   * NULL data where empty, device id 0 on host-like memory. */
  DLBRIDGE_CONVERT_CANONICAL = 1 << 3,
  /** Add byte_offset to data. Refused where `data` is not an address. */
  DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET = 1 << 4,
  /** Copy the data (memory that the CPU reads only) to compact memory of the allocator's; the result
   * may be written to and says IS_COPIED where it can; the source is released. Asking for a copy is
   * the consent to what a downgrade would refuse otherwise, but for codes that nobody knows. */
  DLBRIDGE_CONVERT_COPY = 1 << 5,
  /** Downgrade: READ_ONLY may be lost. */
  DLBRIDGE_CONVERT_DROP_READ_ONLY = 1 << 6,
  /** Downgrade: the padded flag may be lost. */
  DLBRIDGE_CONVERT_DROP_PADDED = 1 << 7,
  /** Downgrade: dtype codes and device types newer than legacy pass. */
  DLBRIDGE_CONVERT_NEWER_CODES = 1 << 8,
  /** Keep the module of the producer's deleter loaded, as dlbridge_pin_module does: for producers in
   * plugins. For a tensor of ours it is the deleter of what it was made of, or the `deallocate` of its
   * memory. It is done last: a source that is refused for anything else pins nothing (of a batch, those
   * before the one that cannot be pinned stay pinned). A NULL deleter and a COPY, which releases the
   * source at once, have nothing to pin. */
  DLBRIDGE_CONVERT_PIN_PRODUCER = 1 << 9
};

/** How to convert. Start from DLBRIDGE_CONVERT_OPTIONS_INIT, which is what a NULL pointer stands for.
 * All pointers are borrowed for the call. \since 0.1.0 */
typedef struct DLBridgeConvertOptions {
  uint32_t struct_size;               /**< sizeof(DLBridgeConvertOptions) */
  uint32_t flags;                     /**< DLBRIDGE_CONVERT_* */
  DLPackVersion version;              /**< Newest DLPack that the consumer speaks; {0, 0}: the newest
                                           release. The result says the smaller of it and the
                                           library's; a tensor that needs more is refused. Its major
                                           must be 1. Ignored by dlbridge_downgrade. */
  uint64_t source_flags;              /**< Upgrade: DLPack flags that the caller knows of the legacy
                                           source, which cannot say them. */
  const DLBridgePolicy* policy;       /**< Validate by it first; NULL: the default policy. */
  const DLBridgeAllocator* allocator; /**< Memory for COPY; NULL: the system's, 256-byte aligned. */
  uint64_t reserved[2];               /**< 0 */
} DLBridgeConvertOptions;

/** Static initialiser. \since 0.1.0 */
#define DLBRIDGE_CONVERT_OPTIONS_INIT \
  {(uint32_t)sizeof(DLBridgeConvertOptions), 0, {0, 0}, 0, NULL, NULL, {0, 0}}

/** Makes a versioned tensor of a legacy one, without copying data unless asked to.
 *
 * Success: `source` has passed to the library and `*out` is the caller's, to be released once. Shape
 * and strides are snapshotted, NULL strides filled in; the source's struct is never written to and is
 * released when the last owner of the result is. A source that came from dlbridge_downgrade and is
 * not shared yields its original, as it was, where that satisfies the options.
 * Failure: `source` is untouched and the caller's. Any tensor error; OUT_OF_MEMORY; UNKNOWN_CODE;
 * UNSUPPORTED (copy of device memory). `options` may be NULL. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_upgrade(DLManagedTensor* source,
                                             const DLBridgeConvertOptions* options,
                                             DLManagedTensorVersioned** out, DLBridgeError* error);

/** Memory of the caller's for dlbridge_upgrade_into. \since 0.1.0 */
typedef struct DLBridgeStorage {
  uint32_t struct_size; /**< sizeof(DLBridgeStorage) */
  uint32_t reserved0;   /**< 0 */
  void* memory;         /**< Aligned to 16 bytes; must stay until the tensor was released. */
  size_t size;          /**< At least dlbridge_upgrade_storage_size(ndim). */
  /** Called once when the storage is free again, on the thread of the last release, after the
   * source's deleter; may be NULL. */
  void (*released)(void* context, void* memory);
  void* context; /**< Passed to `released`; may be NULL. */
} DLBridgeStorage;

/** Static initialiser. \since 0.1.0 */
#define DLBRIDGE_STORAGE_INIT {(uint32_t)sizeof(DLBridgeStorage), 0, NULL, 0, NULL, NULL}

/** Bytes of storage that dlbridge_upgrade_into needs for `ndim` axes; 0 for a negative ndim.
 * \since 0.1.0 */
DLBRIDGE_API size_t dlbridge_upgrade_storage_size(int32_t ndim);

/** As dlbridge_upgrade, into storage of the caller's and without allocating. The result is at the
 * start of the storage; dlbridge_share and dlbridge_view refuse it (rule IN_STORAGE). COPY is an
 * invalid argument. A source made by dlbridge_downgrade keeps what its original said, but the
 * original itself is not handed back: the result is always in the storage. Failure: BUFFER_TOO_SMALL
 * and what dlbridge_upgrade returns; the storage is free, its bytes unspecified. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_upgrade_into(DLManagedTensor* source,
                                                  const DLBridgeConvertOptions* options,
                                                  const DLBridgeStorage* storage,
                                                  DLManagedTensorVersioned** out,
                                                  DLBridgeError* error);

/** Upgrades `count` tensors, all or nothing. Success: as dlbridge_upgrade for each. Failure: all
 * sources are the caller's and untouched, `outs` is unwritten, and `*failed`, unless NULL, is the
 * index of the tensor that was refused (`count` where none is to blame). COPY is an invalid argument.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_upgrade_many(DLManagedTensor* const* sources, size_t count,
                                                  const DLBridgeConvertOptions* options,
                                                  DLManagedTensorVersioned** outs, size_t* failed,
                                                  DLBridgeError* error);

/** Makes a legacy tensor of a versioned one. Refuses what legacy cannot say (rules LEGACY_*), unless
 * the options allow that loss or ask for a copy; IS_COPIED is dropped. What is lost on the way to the
 * consumer is remembered: upgrading the result says it again. Ownership and round trips as for
 * dlbridge_upgrade. Any tensor error; UNREPRESENTABLE; UNKNOWN_CODE; OUT_OF_MEMORY; UNSUPPORTED.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_downgrade(DLManagedTensorVersioned* source,
                                               const DLBridgeConvertOptions* options,
                                               DLManagedTensor** out, DLBridgeError* error);

/** Makes of `source`, a struct of `kind` (LEGACY or VERSIONED), what a consumer of DLPack `target`
 * reads: legacy where target.major is 0, else versioned; `options->version` must be {0, 0}. A tensor
 * that already is what the target asks for is validated and handed back: `*out == source`. `*out_kind`
 * says which struct `*out` is. Ownership and errors as for dlbridge_upgrade and dlbridge_downgrade.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_convert(void* source, DLBridgeKind kind, DLPackVersion target,
                                             const DLBridgeConvertOptions* options, void** out,
                                             DLBridgeKind* out_kind, DLBridgeError* error);

/** Makes a versioned tensor of anybody's one of ours, so that it can be shared and viewed: shape and
 * strides are snapshotted, NULL strides filled in where the policy lets them pass. One that is ours
 * already and satisfies the options is handed back. Ownership and errors as for dlbridge_upgrade.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_adopt(DLManagedTensorVersioned* source,
                                           const DLBridgeConvertOptions* options,
                                           DLManagedTensorVersioned** out, DLBridgeError* error);

/** Makes one more independent owner of the same data. `tensor` must be ours, stays the caller's, and
 * must stay live for the call; it may be shared from several threads at once. `*out` is the caller's
 * and outlives `tensor` if need be: the data is released with its last owner. Errors: NOT_OURS,
 * UNSUPPORTED with rule IN_STORAGE, INVALID_ARGUMENT where the struct was altered, OUT_OF_MEMORY.
 * \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_share(const DLManagedTensorVersioned* tensor,
                                           DLManagedTensorVersioned** out, DLBridgeError* error);

/** A new look at the data of a tensor. \since 0.1.0 */
typedef struct DLBridgeViewSpec {
  uint32_t struct_size;   /**< sizeof(DLBridgeViewSpec) */
  int32_t ndim;           /**< Axes of the view. */
  const int64_t* shape;   /**< `ndim` extents; NULL where ndim is 0. */
  const int64_t* strides; /**< `ndim` strides in elements; NULL: compact, last axis fastest. */
  int64_t offset;         /**< Elements from the parent's (0,...,0) to the view's. */
  uint64_t reserved[2];   /**< 0 */
} DLBridgeViewSpec;

/** Static initialiser. \since 0.1.0 */
#define DLBRIDGE_VIEW_SPEC_INIT {(uint32_t)sizeof(DLBridgeViewSpec), 0, NULL, NULL, 0, {0, 0}}

/** As dlbridge_share, with another shape, strides and offset, which must stay inside the bytes that
 * the parent touches (an empty view is always inside). Dtype, device and flags are the parent's.
 * Errors: also BOUNDS with rules VIEW_BOUNDS and VIEW_OFFSET, and any tensor error. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_view(const DLManagedTensorVersioned* tensor,
                                          const DLBridgeViewSpec* spec,
                                          DLManagedTensorVersioned** out, DLBridgeError* error);

/** Bits of DLBridgeAllocateSpec::options. \since 0.2.0 */
enum {
  /** Memory that dlbridge_ipc_export can share with other processes: an anonymous memory file, sealed
   * against changes of its size. On the CPU and without an allocator. */
  DLBRIDGE_ALLOCATE_SHAREABLE = 1 << 0
};

/** A tensor to allocate. \since 0.1.0 */
typedef struct DLBridgeAllocateSpec {
  uint32_t struct_size;               /**< sizeof(DLBridgeAllocateSpec) */
  int32_t ndim;                       /**< Number of axes. */
  const int64_t* shape;               /**< `ndim` extents; NULL where ndim is 0. */
  DLDevice device;                    /**< CPU; with an allocator any device. */
  DLDataType dtype;                   /**< Any dtype that validation accepts. */
  uint32_t reserved0;                 /**< 0 */
  uint64_t alignment;                 /**< Bytes, a power of two; 0: 256. */
  uint64_t flags;                     /**< Flags of the result, such as the padded one. */
  DLPackVersion version;              /**< Newest DLPack that the consumer speaks; {0, 0}: newest. */
  const DLBridgeAllocator* allocator; /**< NULL: the system's. */
  uint64_t reserved[2];               /**< 0 */
  uint32_t options;                   /**< DLBRIDGE_ALLOCATE_*. \since 0.2.0 */
  uint32_t reserved1;                 /**< 0. \since 0.2.0 */
} DLBridgeAllocateSpec;

/** Static initialiser: a float32 scalar on the CPU. \since 0.1.0 */
#define DLBRIDGE_ALLOCATE_SPEC_INIT                                                    \
  {(uint32_t)sizeof(DLBridgeAllocateSpec), 0, NULL, {kDLCPU, 0}, {kDLFloat, 32, 1}, 0, \
   0, 0, {0, 0}, NULL, {0, 0}, 0, 0}

/** Allocates a compact tensor of ours; its bytes are unspecified. An empty one has NULL data and
 * allocates none. Errors: any tensor error, OUT_OF_MEMORY, UNSUPPORTED (a device other than the CPU
 * without an allocator, SHAREABLE on a system without memory files), VERSION. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_allocate(const DLBridgeAllocateSpec* spec,
                                              DLManagedTensorVersioned** out, DLBridgeError* error);

/** Calls the deleter of `tensor`, where it has one. NULL is accepted. \since 0.1.0 */
DLBRIDGE_API void dlbridge_release_legacy(DLManagedTensor* tensor);

/** The same for a versioned tensor of any major: nothing behind `deleter` is read. \since 0.1.0 */
DLBRIDGE_API void dlbridge_release_versioned(DLManagedTensorVersioned* tensor);

/* ---------------------------------------------------------------------------------------------
 * Negotiate
 * ------------------------------------------------------------------------------------------- */

/** The oldest DLPack version that can describe `tensor` with `flags`, at least 0.2: decided by dtype
 * code, device type and flags; shape and strides are not read. Errors: UNKNOWN_CODE where no release
 * knows one of them. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_required_version(const DLTensor* tensor, uint64_t flags,
                                                      DLPackVersion* out, DLBridgeError* error);

/** What a producer that can make up to `producer` hands to a consumer that reads up to `consumer`, as
 * the Python array API standard says: legacy ({0, 8} at most) where either is older than 1.0, else
 * versioned with the smaller version. Errors: VERSION where a producer of a higher major meets a
 * versioned consumer of a lower one. `kind` and `version` are outputs. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_negotiate(DLPackVersion producer, DLPackVersion consumer,
                                               DLBridgeKind* kind, DLPackVersion* version,
                                               DLBridgeError* error);

/** The newest table of a DLPackExchangeAPI chain whose major is `consumer.major` (1) and whose four
 * mandatory functions are all there; broken tables are passed over. At most 64 tables are looked at,
 * so a ring ends. `*out` is borrowed from the chain, for as long as its type lives. Errors: NOT_FOUND;
 * VERSION where consumer.major is not 1. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_exchange_api_find(const DLPackExchangeAPIHeader* chain,
                                                       DLPackVersion consumer,
                                                       const DLPackExchangeAPI** out,
                                                       DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Identify
 * ------------------------------------------------------------------------------------------- */

/** Tells DLBRIDGE_KIND_LEGACY from DLBRIDGE_KIND_VERSIONED by the bytes alone, for channels that
 * carry a void*. Reads 64 bytes, the smaller struct, and follows no pointer. It never guesses:
 * DLBRIDGE_KIND_AMBIGUOUS where both or neither can be, and for NULL. Tensors of this library are
 * always recognised. docs/identify.md lists the bytes that are truly ambiguous. \since 0.1.0 */
DLBRIDGE_API DLBridgeKind dlbridge_identify(const void* tensor);

/* ---------------------------------------------------------------------------------------------
 * Plugins
 * ------------------------------------------------------------------------------------------- */

/** Keeps the module (shared library, plugin, DLL) that holds `address` loaded until the process ends,
 * with all that it needs, so that a deleter and static data inside it outlive its dlclose. Any address
 * inside will do: the deleter, or, where C forbids such a conversion, static data. The module must be
 * loaded during the call. The main program never goes, nor does this library as a shared one, and both
 * may be named; a plugin that has the static library inside must pin itself if its tensors are to
 * outlive it. Repeating the call is harmless; it cannot be undone.
 * It takes the lock of the system's loader, which allocates. Errors: NOT_FOUND where no module holds
 * the address (heap, stack, code made at run time); UNSUPPORTED where the module cannot be kept, such
 * as one in a linker namespace of its own. \since 0.1.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_pin_module(const void* address, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Devices: what a driver knows
 *
 * A driver is loaded, never linked, and only by the first call that concerns its backend: a call
 * whose device, buffer or stream names it. A machine without drivers answers UNAVAILABLE, and
 * dlbridge_backend_info says what was tried. The functions of this section may take a lock of the
 * library's (while a driver is being started, so not from a constructor of a library that is being
 * loaded; never while other calls of it or a callback run), of the loader and of the driver, and the
 * first of them in a process reads the environment (DLBRIDGE_LIBCUDA, DLBRIDGE_LIBHIP, DLBRIDGE_LIBZE,
 * DLBRIDGE_LIBOPENCL: the file to load instead) and registers a fork handler.
 *
 * FORK. In the child of a process that had started a backend, calls that need it return
 * DLBRIDGE_ERROR_FORKED; deleters free memory of this library's and call no driver. A backend that
 * had not been started works.
 *
 * Each function that may start a backend also returns UNAVAILABLE (no driver, or no device), FORKED,
 * and DRIVER with the name of the driver's call and its code.
 * ------------------------------------------------------------------------------------------- */

/** Who knows a device. \since 0.2.0 */
typedef int32_t DLBridgeBackend;

/** \since 0.2.0 */
enum {
  DLBRIDGE_BACKEND_NONE = 0,       /**< Not said. */
  DLBRIDGE_BACKEND_CPU = 1,        /**< The host. */
  DLBRIDGE_BACKEND_CUDA = 2,       /**< CUDA driver API: kDLCUDA, kDLCUDAHost, kDLCUDAManaged. */
  DLBRIDGE_BACKEND_HIP = 3,        /**< HIP runtime: kDLROCM, kDLROCMHost. */
  DLBRIDGE_BACKEND_LEVEL_ZERO = 4, /**< Level Zero: kDLOneAPI. */
  DLBRIDGE_BACKEND_OPENCL = 5      /**< OpenCL: kDLOpenCL, and kDLOneAPI where SYCL runs on it. */
};

/** Values of DLBridgeBackendInfo::state. \since 0.2.0 */
enum {
  DLBRIDGE_STATE_READY = 1,   /**< Loaded, initialised, at least one device. */
  DLBRIDGE_STATE_ABSENT = 2,  /**< No driver library could be loaded. */
  DLBRIDGE_STATE_UNUSABLE = 3 /**< Loaded, but it does not initialise or has no device. */
};

/** What is known of a backend. Texts are NUL-terminated and cut where they do not fit. \since 0.2.0 */
typedef struct DLBridgeBackendInfo {
  uint32_t struct_size;      /**< In: sizeof(DLBridgeBackendInfo). */
  DLBridgeBackend backend;   /**< The backend asked for. */
  int32_t state;             /**< DLBRIDGE_STATE_* */
  int32_t device_count;      /**< Devices of this process; 0 unless READY. */
  int32_t driver_code;       /**< What the driver's initialisation returned; 0 where none was called. */
  uint32_t reserved0;        /**< 0 */
  char driver_version[64];   /**< Of the driver, as it says it: "12.2"; empty where unknown. */
  char runtime_version[64];  /**< Of the loader or runtime: "1.8.12"; empty where there is none. */
  char file[256];            /**< The library in use; empty where ABSENT. */
  char reason[616];          /**< Not READY: each path tried with the loader's reason, or the driver's
                                  call and code. Empty where READY. */
} DLBridgeBackendInfo;

/** Static initialiser. \since 0.2.0 */
#define DLBRIDGE_BACKEND_INFO_INIT \
  {(uint32_t)sizeof(DLBridgeBackendInfo), DLBRIDGE_BACKEND_NONE, 0, 0, 0, 0, {0}, {0}, {0}, {0}}

/** Starts `backend` (CPU to OPENCL) unless that was tried before, and says what came of it. An absent
 * driver is no error. Errors: FORKED; INVALID_ARGUMENT for other backends. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_backend_info(DLBridgeBackend backend, DLBridgeBackendInfo* out,
                                                  DLBridgeError* error);

/** Values of DLBridgeBuffer::kind. \since 0.2.0 */
enum {
  /** An address: host memory, CUdeviceptr, HIP, USM or SVM pointer, pinned or managed memory. */
  DLBRIDGE_BUFFER_ADDRESS = 1,
  /** A cl_mem, which is a handle: nothing is ever added to it. */
  DLBRIDGE_BUFFER_CL_MEM = 2,
  /** Another opaque handle: of Vulkan, Metal, WebGPU, VPI. No driver is asked about it. */
  DLBRIDGE_BUFFER_HANDLE = 3
};

/** Memory of a device, as its driver names it; 24 bytes for ever. \since 0.2.0 */
typedef struct DLBridgeBuffer {
  DLBridgeBackend backend; /**< Whose memory; NONE: not said. */
  int32_t kind;            /**< DLBRIDGE_BUFFER_* */
  uint64_t handle;         /**< The address or handle. */
  uint64_t context;        /**< ze_context_handle_t or cl_context that it belongs to; 0: not said. */
} DLBridgeBuffer;

/** A buffer of an address, backend and context not said. \since 0.2.0 */
static inline DLBridgeBuffer dlbridge_buffer_address(const void* address) {
  DLBridgeBuffer buffer;
  buffer.backend = DLBRIDGE_BACKEND_NONE;
  buffer.kind = DLBRIDGE_BUFFER_ADDRESS;
  buffer.handle = (uint64_t)(uintptr_t)address;
  buffer.context = 0;
  return buffer;
}

/** Values of DLBridgePointerInfo::memory. \since 0.2.0 */
enum {
  DLBRIDGE_MEMORY_HOST = 1,       /**< Ordinary host memory: no driver knows it. */
  DLBRIDGE_MEMORY_DEVICE = 2,     /**< Device memory of CUDA or HIP. */
  DLBRIDGE_MEMORY_PINNED = 3,     /**< Host memory that CUDA or HIP has pinned or registered. */
  DLBRIDGE_MEMORY_MANAGED = 4,    /**< Managed memory of CUDA or HIP. */
  DLBRIDGE_MEMORY_USM_HOST = 5,   /**< Host USM of Level Zero or OpenCL. */
  DLBRIDGE_MEMORY_USM_DEVICE = 6, /**< Device USM. */
  DLBRIDGE_MEMORY_USM_SHARED = 7, /**< Shared USM. */
  DLBRIDGE_MEMORY_SVM = 8,        /**< OpenCL shared virtual memory (behind a cl_mem). */
  DLBRIDGE_MEMORY_CL_MEM = 9      /**< An OpenCL buffer object. */
};

/** Bits of DLBridgePointerInfo::flags. \since 0.2.0 */
enum {
  /** A context knew the memory that nobody registered or named; on Level Zero any context of a driver
   * may answer, so it need not be the one that allocated. */
  DLBRIDGE_POINTER_CONTEXT_ASSUMED = 1 << 0
};

/** Where memory is. \since 0.2.0 */
typedef struct DLBridgePointerInfo {
  uint32_t struct_size;    /**< In: sizeof(DLBridgePointerInfo). */
  DLBridgeBackend backend; /**< Who knows it; CPU where no driver does. */
  DLDevice device;         /**< As DLPack labels it; id 0 on host, pinned and managed memory. */
  int32_t memory;          /**< DLBRIDGE_MEMORY_* */
  int32_t native_device;   /**< Index of the driver's device behind it, also of pinned and managed
                                memory; -1 where none is. */
  uint32_t flags;          /**< DLBRIDGE_POINTER_* */
  uint32_t reserved0;      /**< 0 */
  uint64_t base;           /**< Start of the allocation; for a cl_mem 0; 0 also where unknown. */
  uint64_t size;           /**< Bytes of the allocation; 0: unknown. */
  uint64_t context;        /**< CUcontext, ze_context_handle_t or cl_context; 0 where none is known. */
} DLBridgePointerInfo;

/** Static initialiser. \since 0.2.0 */
#define DLBRIDGE_POINTER_INFO_INIT \
  {(uint32_t)sizeof(DLBridgePointerInfo), DLBRIDGE_BACKEND_NONE, {kDLCPU, 0}, 0, -1, 0, 0, 0, 0, 0}

/** Asks the driver where `buffer`, also the inside of an allocation, is. `device` is what its label
 * says; kDLCPU says nothing. Asked are the backend of `buffer->backend`, or of `device` (both
 * are started if need be), else those that have been started already: classifying a host pointer
 * starts no driver. Memory that none of them knows is HOST; that is an answer, not an error. Errors:
 * INVALID_ARGUMENT, UNSUPPORTED for device types without a backend. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_pointer_info(const DLBridgeBuffer* buffer, DLDevice device,
                                                  DLBridgePointerInfo* out, DLBridgeError* error);

/** Bits of DLBridgeWrapSpec::options. \since 0.2.0 */
enum {
  /** The caller vouches for the layout; only what a node needs is checked, and an empty tensor stands as
   * it was given. `policy` must be NULL and `buffer_size` UINT64_MAX. */
  DLBRIDGE_WRAP_SKIP_VALIDATION = 1 << 0,
  /** Keep the module of `release` loaded, as dlbridge_pin_module does. */
  DLBRIDGE_WRAP_PIN_PRODUCER = 1 << 1,
  /** CL_MEM: the tensor holds a reference of its own to the cl_mem (clRetainMemObject), which keeps its
   * context too. */
  DLBRIDGE_WRAP_RETAIN = 1 << 2
};

/** Native memory to make a tensor of. The arrays are borrowed for the call. \since 0.2.0 */
typedef struct DLBridgeWrapSpec {
  uint32_t struct_size;         /**< sizeof(DLBridgeWrapSpec) */
  int32_t ndim;                 /**< Number of axes. */
  const int64_t* shape;         /**< `ndim` extents; NULL where ndim is 0. */
  const int64_t* strides;       /**< `ndim` strides in elements; NULL: compact, last axis fastest. */
  DLBridgeBuffer buffer;        /**< The memory. Backend: NONE, or the one of `device`. */
  uint64_t byte_offset;         /**< Bytes from the handle to element (0,...,0); written to the tensor,
                                     never added to `data`. */
  uint64_t buffer_size;         /**< Bytes at the handle; UINT64_MAX: not said. */
  DLDevice device;              /**< The label; the id of host-like memory is written as 0. */
  DLDataType dtype;             /**< Dtype of the elements. */
  uint32_t options;             /**< DLBRIDGE_WRAP_* */
  uint64_t flags;               /**< DLPack flags of the tensor. */
  DLPackVersion version;        /**< Newest DLPack that the consumer speaks; {0, 0}: newest. */
  void (*release)(void* context, DLBridgeBuffer buffer); /**< Called once when the last owner is gone,
                                     on that thread; NULL: nothing to call. */
  void* release_context;        /**< Passed to `release`; may be NULL. */
  const DLBridgePolicy* policy; /**< Validate by it; NULL: the default policy. */
  uint64_t reserved[2];         /**< 0 */
} DLBridgeWrapSpec;

/** Static initialiser: a float32 scalar at a NULL address on the CPU, which is not valid yet.
 * \since 0.2.0 */
#define DLBRIDGE_WRAP_SPEC_INIT                                                                    \
  {(uint32_t)sizeof(DLBridgeWrapSpec), 0, NULL, NULL, {DLBRIDGE_BACKEND_NONE, DLBRIDGE_BUFFER_ADDRESS, \
   0, 0}, 0, UINT64_MAX, {kDLCPU, 0}, {kDLFloat, 32, 1}, 0, 0, {0, 0}, NULL, NULL, NULL, {0, 0}}

/** Makes a tensor of ours of native memory: a CL_MEM for kDLOpenCL, a HANDLE for other devices whose
 * `data` is one, else an ADDRESS. An empty one gets NULL data and compact strides. Where
 * `buffer.context` is given it must be in the context table for that device, so that a consumer finds
 * it, and the tensor keeps that entry; a CL_MEM of another context is refused. No driver is called
 * unless a context is given, RETAIN is asked for, or the policy's level is DEVICE.
 * Success: the memory belongs to the tensor until `release` runs. Failure: everything is the caller's
 * and `release` has not been called. Any tensor error; UNKNOWN_CODE; NOT_FOUND (context);
 * OUT_OF_MEMORY. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_wrap(const DLBridgeWrapSpec* spec,
                                          DLManagedTensorVersioned** out, DLBridgeError* error);

/** The same as a legacy tensor; `version` must be {0, 0}. What legacy cannot say is refused (rules
 * LEGACY_*), but for IS_COPIED, which is dropped. Upgrading the result says all of it again.
 * \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_wrap_legacy(const DLBridgeWrapSpec* spec, DLManagedTensor** out,
                                                 DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Streams
 * ------------------------------------------------------------------------------------------- */

/** Values of DLBridgeStream::kind. \since 0.2.0 */
enum {
  DLBRIDGE_STREAM_HOST = 1,    /**< No queue: work is done when a call returns. */
  DLBRIDGE_STREAM_NO_SYNC = 2, /**< The consumer sees to the order itself. */
  /** CUstream (1 and 2 are CUDA's special ones, 0 is not used), hipStream_t (0: the default),
   * cl_command_queue, ze_command_queue_handle_t. */
  DLBRIDGE_STREAM_QUEUE = 3,
  /** Level Zero: an immediate ze_command_list_handle_t. */
  DLBRIDGE_STREAM_IMMEDIATE_LIST = 4
};

/** A queue of work, borrowed; 32 bytes for ever. \since 0.2.0 */
typedef struct DLBridgeStream {
  DLBridgeBackend backend; /**< Whose queue. */
  int32_t kind;            /**< DLBRIDGE_STREAM_* */
  DLDevice device;         /**< Device that it runs on; what CUDA's special streams and HIP go by. */
  uint64_t handle;         /**< The queue. */
  uint64_t context;        /**< Level Zero: the ze_context_handle_t of the queue. Else 0. */
} DLBridgeStream;

/** What `None` is among the array API's integers. \since 0.2.0 */
#define DLBRIDGE_ARRAY_API_STREAM_NONE INT64_MIN

/** Turns the `stream` of the Python array API's __dlpack__ into a stream, to the letter. CUDA: None and
 * 1 the legacy default stream, 2 the per-thread one, above 2 a CUstream, -1 NO_SYNC; 0 and less than -1
 * are errors. ROCm: None and 0 the default stream, above 2 a hipStream_t, -1 NO_SYNC; 1 and 2 are
 * errors. CPU: None is HOST, all else an error. Other devices: None is HOST, -1 NO_SYNC, other integers
 * mean nothing there: UNSUPPORTED. No driver is called. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_from_array_api(DLDevice device, int64_t stream,
                                                           DLBridgeStream* out, DLBridgeError* error);

/** Bits of the `options` of dlbridge_stream_handoff. \since 0.2.0 */
enum {
  /** The host may wait where no driver can order the two queues: queues of two backends, or of two
   * Level Zero contexts. */
  DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT = 1 << 0,
  /** A wait may draw the consumer's stream into the graph that the producer's is capturing; the caller
   * joins them again. */
  DLBRIDGE_HANDOFF_ALLOW_CAPTURE = 1 << 1
};

/** Work that was put on `producer` happens before work that is put on `consumer` from now on; the host
 * does not wait. Nothing is done where both are one stream, the producer is HOST or NO_SYNC, or the
 * consumer is NO_SYNC; for a consumer HOST it is dlbridge_stream_synchronize(producer). docs/streams.md
 * lists the driver's calls. Errors: CAPTURE, UNSUPPORTED (see the options), INVALID_ARGUMENT.
 * \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_handoff(const DLBridgeStream* producer,
                                                    const DLBridgeStream* consumer, uint32_t options,
                                                    DLBridgeError* error);

/** Waits on the host until all work that was put on `stream` is done. HOST: nothing to wait for.
 * NO_SYNC is an invalid argument. Errors: CAPTURE. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_synchronize(const DLBridgeStream* stream,
                                                        DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * The context table: DLDevice <-> native device, context, default queue
 *
 * One table per process, also where several copies of this library, or others that implement
 * docs/context-table.md, are loaded. Look-ups take no lock.
 * ------------------------------------------------------------------------------------------- */

/** Bits of DLBridgeContextEntry::flags. \since 0.2.0 */
enum {
  /** In: becomes the default of its device. The first entry of a device is so anyway. */
  DLBRIDGE_CONTEXT_DEFAULT = 1 << 0,
  /** In: retires what was registered under the same device with another native device. */
  DLBRIDGE_CONTEXT_REPLACE = 1 << 1,
  /** A library found the device itself; an application's registration goes before it. */
  DLBRIDGE_CONTEXT_ENUMERATED = 1 << 2,
  /** The context was made for the table: no other library uses it unless it asks the table. */
  DLBRIDGE_CONTEXT_PRIVATE = 1 << 3
};

/** One context of one device; 128 bytes for ever. \since 0.2.0 */
typedef struct DLBridgeContextEntry {
  uint32_t struct_size;    /**< 128 */
  DLBridgeBackend backend; /**< CUDA to OPENCL. */
  DLDevice device;         /**< Key: kDLCUDA, kDLROCM, kDLOpenCL or kDLOneAPI. */
  uint64_t id;             /**< Out: of the entry, above 0 and never used again. In: 0. */
  uint64_t platform;       /**< ze_driver_handle_t or cl_platform_id; else 0. */
  uint64_t native_device;  /**< ze_device_handle_t, cl_device_id, or the ordinal in CUDA and HIP. */
  uint64_t context;        /**< CUcontext, ze_context_handle_t, cl_context; HIP: 0. CUDA: 0 stands for
                                the primary context. */
  uint64_t queue;          /**< Default queue, borrowed; 0: none. */
  int32_t queue_kind;      /**< DLBRIDGE_STREAM_QUEUE or _IMMEDIATE_LIST; 0 where there is none. */
  uint32_t flags;          /**< DLBRIDGE_CONTEXT_* */
  uint8_t uuid[16];        /**< Of the device; zero where unknown. */
  /** Called once when the entry is unregistered and no tensor keeps it, on the thread that ended it,
   * outside all locks; NULL: the handles are borrowed and must outlive their use. */
  void (*release)(void* user, const struct DLBridgeContextEntry* entry);
  void* user;              /**< Passed to `release`. */
  uint64_t reserved[4];    /**< 0 */
} DLBridgeContextEntry;

/** Static initialiser. \since 0.2.0 */
#define DLBRIDGE_CONTEXT_ENTRY_INIT                                                                \
  {(uint32_t)sizeof(DLBridgeContextEntry), DLBRIDGE_BACKEND_NONE, {kDLCPU, 0}, 0, 0, 0, 0, 0, 0, 0, \
   {0}, NULL, NULL, {0, 0, 0, 0}}

/** Adds `entry`. A device may have several contexts, of one native device. Success: `*id` names the
 * entry, and `release` will run once. Failure: nothing is kept and `release` is not called. What a
 * library ENUMERATED gives way to what an application registers. Errors: EXISTS where another
 * registration has the same device and context, or the device with another native device and REPLACE is
 * not asked for; INVALID_ARGUMENT. No driver is called. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_register(const DLBridgeContextEntry* entry, uint64_t* id,
                                                     DLBridgeError* error);

/** Finds the entry of `device` with `context`, or its default where `context` is 0. Where the table
 * has none for the device, its backend is started and its devices are entered: Level Zero with
 * zeDriverGetDefaultContext where the driver has it, else a PRIVATE context per driver; OpenCL a PRIVATE
 * context per platform; CUDA and HIP with none. Pinned and managed memory share the entry of kDLCUDA or
 * kDLROCM. `*out` is a copy, whose handles live as long as the entry: keep that with
 * dlbridge_device_retain. Errors: NOT_FOUND, UNSUPPORTED for device types without a backend.
 * \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_lookup(DLDevice device, uint64_t context,
                                                   DLBridgeContextEntry* out, DLBridgeError* error);

/** Copies the entry that follows `*cursor` (0: the first) and moves the cursor to it. Entries that come
 * or go meanwhile are met or not; no entry is met twice. Enumerates nothing by itself. Errors: NOT_FOUND
 * behind the last. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_next(uint64_t* cursor, DLBridgeContextEntry* out,
                                                 DLBridgeError* error);

/** Keeps entry `id` from being released. Errors: NOT_FOUND where it is no longer registered.
 * \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_retain(uint64_t id, DLBridgeError* error);

/** Ends one dlbridge_device_retain; the last, of an entry that was unregistered, runs its `release`.
 * Errors: NOT_FOUND where nobody keeps such an entry. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_release(uint64_t id, DLBridgeError* error);

/** Takes entry `id` out of look-ups at once; its `release` runs when the last that keeps it lets go,
 * which may be now. Errors: NOT_FOUND. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_unregister(uint64_t id, DLBridgeError* error);

/** The table as another copy or library sees it: docs/context-table.md is its specification. Every
 * function returns a DLBridgeStatus of this header and may be called from any thread. \since 0.2.0 */
typedef struct DLBridgeContextTable {
  uint32_t struct_size; /**< Of the table; members are only ever added. */
  uint32_t version;     /**< 1 */
  DLBridgeStatus (*add)(const DLBridgeContextEntry* entry, uint64_t* id);
  DLBridgeStatus (*find)(DLDevice device, uint64_t context, DLBridgeContextEntry* out);
  DLBridgeStatus (*next)(uint64_t* cursor, DLBridgeContextEntry* out);
  DLBridgeStatus (*retain)(uint64_t id);
  DLBridgeStatus (*release)(uint64_t id);
  DLBridgeStatus (*remove)(uint64_t id);
} DLBridgeContextTable;

/** This copy's own table. A library that looks for the table of the process takes the first loaded
 * module that exports this symbol; the functions above have done so. \since 0.2.0 */
DLBRIDGE_API const DLBridgeContextTable* dlbridge_context_table_v1(void);

/* ---------------------------------------------------------------------------------------------
 * Copy
 * ------------------------------------------------------------------------------------------- */

/** Bits of DLBridgeCopySpec::options. \since 0.2.0 */
enum {
  /** What runs and rectangles of a driver cannot express may go through memory of the host. */
  DLBRIDGE_COPY_ALLOW_STAGING = 1 << 0,
  /** Copy into memory that dlbridge_ipc_export can share; on the host, without target or allocator. */
  DLBRIDGE_COPY_SHAREABLE = 1 << 1
};

/** Where to and how. \since 0.2.0 */
typedef struct DLBridgeCopySpec {
  uint32_t struct_size;               /**< sizeof(DLBridgeCopySpec) */
  uint32_t options;                   /**< DLBRIDGE_COPY_* */
  DLDevice device;                    /**< Device of the copy. */
  DLBridgeStream stream;              /**< Queue that orders the copy behind earlier work on it; kind 0:
                                           all work on the source is done, and the driver's queue is the
                                           library's choice. */
  DLBridgeBuffer target;              /**< Memory of the caller's; kind 0: allocate. */
  uint64_t target_offset;             /**< Bytes from the handle to the copy. */
  uint64_t target_size;               /**< Bytes at the handle. */
  void (*release)(void* context, DLBridgeBuffer target); /**< For memory of the caller's: called once
                                           when the last owner of the copy is gone; may be NULL. */
  void* release_context;              /**< Passed to `release`. */
  const DLBridgeAllocator* allocator; /**< Memory of `device`; NULL: the system's, on the host. */
  uint64_t flags;                     /**< DLPack flags of the copy; IS_COPIED is added. */
  DLPackVersion version;              /**< Newest DLPack that the consumer speaks; {0, 0}: newest. */
  const DLBridgePolicy* policy;       /**< Validate the source by it; NULL: the default policy. */
  uint64_t reserved[4];               /**< 0 */
} DLBridgeCopySpec;

/** Static initialiser: to new memory of the host. \since 0.2.0 */
#define DLBRIDGE_COPY_SPEC_INIT                                                                    \
  {(uint32_t)sizeof(DLBridgeCopySpec), 0, {kDLCPU, 0}, {DLBRIDGE_BACKEND_NONE, 0, {kDLCPU, 0}, 0, 0}, \
   {DLBRIDGE_BACKEND_NONE, 0, 0, 0}, 0, 0, NULL, NULL, NULL, 0, {0, 0}, NULL, {0, 0, 0, 0}}

/** Copies `source` (any strides; `flags` as its versioned struct says) to compact memory, last axis
 * fastest. The source is only read and stays the caller's; the call returns when the copy is whole.
 * Host to host: anything, sub-byte elements to packed ones or, with the padded flag in `spec->flags`, to
 * padded ones. Host and device, or within one backend: by contiguous runs and rectangular copies; what
 * 4096 of these cannot express, and what crosses two backends, through the host where ALLOW_STAGING is
 * given. Pinned and managed memory is the host's.
 * Success: `*out` is the caller's. Failure: no output, `release` not called, memory of the allocator
 * given back; the target's bytes are unspecified, and a driver that could not even be waited for
 * (DRIVER) may still be at work on both. Any tensor error; UNSUPPORTED (no allocator, staging
 * not allowed); BUFFER_TOO_SMALL; OUT_OF_MEMORY; CAPTURE. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_copy(const DLTensor* source, uint64_t flags,
                                          const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                                          DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Between processes of one host
 * ------------------------------------------------------------------------------------------- */

/** Bytes that any descriptor fits in, and the most file descriptors that go with one. \since 0.2.0 */
enum { DLBRIDGE_IPC_MAX_SIZE = 2048, DLBRIDGE_IPC_MAX_FDS = 4 };

/** Bits of the `options` of dlbridge_ipc_export and dlbridge_ipc_import. \since 0.2.0 */
enum {
  /** Export: the importer gets no right to write, and on the host a process of another user cannot
   * gain it. Import: do not ask for it. Without it a tensor that says READ_ONLY is exported so all the
   * same. */
  DLBRIDGE_IPC_READ_ONLY = 1 << 0
};

/** Describes `tensor` for another process: up to `size` bytes to `buffer`, their number to `*length`,
 * and file descriptors, which belong to the caller, who passes them on (SCM_RIGHTS) in their order and
 * closes its own, to `fds` of `fd_capacity`, their number to `*fd_count`. The host's memory must be
 * SHAREABLE (dlbridge_allocate, dlbridge_copy) and lives until the last process lets go; a device's
 * memory stays the exporter's, which keeps the tensor until the importer is done. Work on the tensor
 * must be finished. The tensor stays the caller's. docs/ipc.md has the format. Errors: any tensor
 * error; UNSUPPORTED with the remedy; BUFFER_TOO_SMALL with both numbers told. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_ipc_export(const DLManagedTensorVersioned* tensor,
                                                uint32_t options, void* buffer, size_t size,
                                                size_t* length, int32_t* fds, size_t fd_capacity,
                                                size_t* fd_count, DLBridgeError* error);

/** Makes a tensor of ours of what another process exported: `length` bytes and `fd_count` file
 * descriptors, all of which stay the caller's in every case. It is validated as any foreign tensor by
 * `policy` (NULL: default), and the host's memory is checked to be sealed and large enough, so that no
 * peer can make a reader fault. Errors: DESCRIPTOR where the bytes are cut short, altered, of a newer
 * version, or do not fit the file descriptors; any tensor error; UNAVAILABLE; DRIVER where the
 * exporter is gone. \since 0.2.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_ipc_import(const void* buffer, size_t length, const int32_t* fds,
                                                size_t fd_count, uint32_t options,
                                                const DLBridgePolicy* policy,
                                                DLManagedTensorVersioned** out, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Function table, for clients that dlopen
 * ------------------------------------------------------------------------------------------- */

/** All functions in one table. It grows at the end only. \since 0.1.0 */
typedef struct DLBridgeApi {
  uint32_t struct_size; /**< Of the library's table: ask DLBRIDGE_API_HAS before a call. */
  uint32_t abi;         /**< DLBRIDGE_ABI of the library. */
  uint32_t (*version)(void);
  const char* (*version_string)(void);
  DLPackVersion (*dlpack_version)(void);
  const char* (*status_name)(DLBridgeStatus);
  const char* (*status_text)(DLBridgeStatus);
  const char* (*rule_name)(DLBridgeRule);
  const char* (*rule_text)(DLBridgeRule);
  DLBridgeStatus (*layout)(const DLTensor*, uint64_t, DLBridgeLayout*, DLBridgeError*);
  DLBridgeStatus (*dtype_format)(DLDataType, char*, size_t, size_t*, DLBridgeError*);
  DLBridgeStatus (*dtype_parse)(const char*, size_t, DLDataType*, DLBridgeError*);
  DLBridgeStatus (*device_format)(DLDevice, char*, size_t, size_t*, DLBridgeError*);
  DLBridgeStatus (*device_parse)(const char*, size_t, DLDevice*, DLBridgeError*);
  DLBridgeStatus (*tensor_format)(const DLTensor*, uint64_t, char*, size_t, size_t*,
                                  DLBridgeError*);
  DLBridgeAnswer (*host_accessible)(int32_t);
  DLBridgeStatus (*validate)(const DLTensor*, uint64_t, const DLBridgePolicy*, DLBridgeError*);
  DLBridgeStatus (*validate_legacy)(const DLManagedTensor*, const DLBridgePolicy*, DLBridgeError*);
  DLBridgeStatus (*validate_versioned)(const DLManagedTensorVersioned*, const DLBridgePolicy*,
                                       DLBridgeError*);
  DLBridgeStatus (*diagnose)(const void*, DLBridgeKind, uint64_t, const DLBridgePolicy*,
                             DLBridgeFinding*, size_t, size_t*, DLBridgeError*);
  DLBridgeStatus (*upgrade)(DLManagedTensor*, const DLBridgeConvertOptions*,
                            DLManagedTensorVersioned**, DLBridgeError*);
  size_t (*upgrade_storage_size)(int32_t);
  DLBridgeStatus (*upgrade_into)(DLManagedTensor*, const DLBridgeConvertOptions*,
                                 const DLBridgeStorage*, DLManagedTensorVersioned**,
                                 DLBridgeError*);
  DLBridgeStatus (*upgrade_many)(DLManagedTensor* const*, size_t, const DLBridgeConvertOptions*,
                                 DLManagedTensorVersioned**, size_t*, DLBridgeError*);
  DLBridgeStatus (*downgrade)(DLManagedTensorVersioned*, const DLBridgeConvertOptions*,
                              DLManagedTensor**, DLBridgeError*);
  DLBridgeStatus (*convert)(void*, DLBridgeKind, DLPackVersion, const DLBridgeConvertOptions*,
                            void**, DLBridgeKind*, DLBridgeError*);
  DLBridgeStatus (*adopt)(DLManagedTensorVersioned*, const DLBridgeConvertOptions*,
                          DLManagedTensorVersioned**, DLBridgeError*);
  DLBridgeStatus (*share)(const DLManagedTensorVersioned*, DLManagedTensorVersioned**,
                          DLBridgeError*);
  DLBridgeStatus (*view)(const DLManagedTensorVersioned*, const DLBridgeViewSpec*,
                         DLManagedTensorVersioned**, DLBridgeError*);
  DLBridgeStatus (*allocate)(const DLBridgeAllocateSpec*, DLManagedTensorVersioned**,
                             DLBridgeError*);
  void (*release_legacy)(DLManagedTensor*);
  void (*release_versioned)(DLManagedTensorVersioned*);
  DLBridgeStatus (*required_version)(const DLTensor*, uint64_t, DLPackVersion*, DLBridgeError*);
  DLBridgeStatus (*negotiate)(DLPackVersion, DLPackVersion, DLBridgeKind*, DLPackVersion*,
                              DLBridgeError*);
  DLBridgeStatus (*exchange_api_find)(const DLPackExchangeAPIHeader*, DLPackVersion,
                                      const DLPackExchangeAPI**, DLBridgeError*);
  DLBridgeKind (*identify)(const void*);
  DLBridgeStatus (*pin_module)(const void*, DLBridgeError*);
  DLBridgeStatus (*backend_info)(DLBridgeBackend, DLBridgeBackendInfo*, DLBridgeError*);
  DLBridgeStatus (*pointer_info)(const DLBridgeBuffer*, DLDevice, DLBridgePointerInfo*,
                                 DLBridgeError*);
  DLBridgeStatus (*wrap)(const DLBridgeWrapSpec*, DLManagedTensorVersioned**, DLBridgeError*);
  DLBridgeStatus (*wrap_legacy)(const DLBridgeWrapSpec*, DLManagedTensor**, DLBridgeError*);
  DLBridgeStatus (*stream_from_array_api)(DLDevice, int64_t, DLBridgeStream*, DLBridgeError*);
  DLBridgeStatus (*stream_handoff)(const DLBridgeStream*, const DLBridgeStream*, uint32_t,
                                   DLBridgeError*);
  DLBridgeStatus (*stream_synchronize)(const DLBridgeStream*, DLBridgeError*);
  DLBridgeStatus (*device_register)(const DLBridgeContextEntry*, uint64_t*, DLBridgeError*);
  DLBridgeStatus (*device_lookup)(DLDevice, uint64_t, DLBridgeContextEntry*, DLBridgeError*);
  DLBridgeStatus (*device_next)(uint64_t*, DLBridgeContextEntry*, DLBridgeError*);
  DLBridgeStatus (*device_retain)(uint64_t, DLBridgeError*);
  DLBridgeStatus (*device_release)(uint64_t, DLBridgeError*);
  DLBridgeStatus (*device_unregister)(uint64_t, DLBridgeError*);
  const DLBridgeContextTable* (*context_table_v1)(void);
  DLBridgeStatus (*copy)(const DLTensor*, uint64_t, const DLBridgeCopySpec*,
                         DLManagedTensorVersioned**, DLBridgeError*);
  DLBridgeStatus (*ipc_export)(const DLManagedTensorVersioned*, uint32_t, void*, size_t, size_t*,
                               int32_t*, size_t, size_t*, DLBridgeError*);
  DLBridgeStatus (*ipc_import)(const void*, size_t, const int32_t*, size_t, uint32_t,
                               const DLBridgePolicy*, DLManagedTensorVersioned**, DLBridgeError*);
} DLBridgeApi;

/** Does the table have `function`, a member's name? \since 0.1.0 */
#define DLBRIDGE_API_HAS(api, function)                                               \
  ((api)->struct_size >= offsetof(DLBridgeApi, function) + sizeof((api)->function) && \
   (api)->function != NULL)

/** The library's table, static; NULL where the library's ABI is not `abi` (pass DLBRIDGE_ABI) or
 * where `struct_size` (pass sizeof(DLBridgeApi)) is smaller than the first version of the table. A
 * client that is newer than the library gets the library's shorter table. \since 0.1.0 */
DLBRIDGE_API const DLBridgeApi* dlbridge_get_api(uint32_t abi, size_t struct_size);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_DLBRIDGE_H_ */
