/*
 * SPDX-License-Identifier: Apache-2.0
 * dlbridge: import, export, validate, wrap, copy and share DLPack tensors.
 *
 * The whole public C ABI, for C99 and C++11 and later, on 64-bit little-endian targets.
 *
 * START HERE. dlbridge_import turns any managed tensor from foreign code into a validated versioned
 * tensor; dlbridge_export turns it into what a consumer can read; dlbridge_release ends it.
 *
 * THREADS. Every function may be called from any thread at any time. Several calls may use one object
 * at once where the parameter is `const`. No other call may use an object that a call consumes. Deleters
 * may run on any thread. No function takes a lock, keeps thread-local state, reads the environment,
 * prints, aborts or throws. Exceptions: dlbridge_module_pin, also where an option asks for it, takes
 * the lock of the system's loader; functions that call a driver, see "Devices".
 *
 * PRECONDITIONS. A pointer that is given is readable as what its parameter says (and writable where it
 * is an output), and a managed tensor is live. Everything else is checked. A deleter or callback that
 * is given must return: it must not throw or leave by longjmp. The library loads each field of a
 * foreign struct, and each extent and stride, into a copy of its own and decides by that copy.
 *
 * OWNERSHIP. On DLBRIDGE_OK a consumed tensor belongs to the library and the result to the caller. On
 * any error every input is untouched and still the caller's, no deleter and no callback has been
 * called, and no output but `*error` has been written, unless the function's comment names one. A
 * deleter is called exactly once; a NULL deleter is legal on input, and the outputs always have one,
 * except where the original tensor of a round trip is handed back unchanged. The release callback of a
 * memory block runs after the deleter of the tensor in it. A tensor is dlbridge-owned if this copy of
 * the library made it. The owner of a dlbridge-owned struct may set its READ_ONLY flag, and every
 * function then respects it. If ndim, the shape pointer, the strides pointer, the version or another
 * flag was changed, functions return DLBRIDGE_ERROR_INVALID_ARGUMENT (DLBRIDGE_ERROR_VERSION is possible
 * for the major).
 *
 * ERRORS. A function that can fail returns a DLBridgeStatus and takes a DLBridgeError* last, which
 * may be NULL and needs no initialisation. Where a comment says "any tensor error", the status is
 * that of the broken rule (see DLBridgeRule). Every function that takes a pointer rejects NULL with
 * DLBRIDGE_ERROR_INVALID_ARGUMENT unless its comment allows NULL.
 *
 * GROWTH. A struct that may grow begins with `struct_size`, the size that the caller was compiled
 * with, followed by `options`. `struct_size` is read first, and no byte beyond it. It grows at the
 * end only.
 *   - smaller than the first version, or above 4096: DLBRIDGE_ERROR_INVALID_ARGUMENT
 *   - larger than this library knows, with a byte that is not zero in the unknown tail of a struct
 *     that the caller fills: DLBRIDGE_ERROR_TOO_NEW, as for an option bit above 7 that this library
 *     does not know and for newer values of an enumeration in a struct (in a context entry:
 *     DLBRIDGE_ERROR_INVALID_ARGUMENT)
 *   - structs that the library fills are written up to the smaller of both sizes, and `struct_size`
 *     is then the number of bytes that were filled.
 * ZERO IS THE DEFAULT. A struct whose fields are all zero except `struct_size` means the same as a NULL
 * pointer where NULL is allowed. Elsewhere each zero has the default of its comment, or is rejected with
 * "X is not set".
 * Structs of fixed size have reserved fields, which must be zero (DLBRIDGE_ERROR_TOO_NEW).
 * [facts/dlpack.toml]
 * The default of a version, {0, 0}, is DLPack 1.3 in all of ABI 1, since a
 * newer library must not change what a compiled caller receives.
 * [/facts]
 *
 * FLAGS AND OPTIONS. DLPack's flags are always `uint64_t tensor_flags`. Option bits are always
 * `uint32_t options` and lie in bits 8 to 30, so that a DLPack flag given as an option is rejected.
 *
 * FOREIGN ENUMERATIONS (device types, dtype codes, flags) are integers: any value may arrive.
 *
 * GENERATED. `tools/facts.py write` writes the lines between [facts/...] and [/facts] from that file.
 *
 * ABI. DLBRIDGE_ABI, the number in the file name, names what is frozen: within it this header only
 * grows, and a program compiled with any version of it runs with every later one. Messages and texts
 * are not part of it. Default policies and options reject nothing in a later version that they
 * accepted in 0.3.0.
 */
#ifndef DLBRIDGE_DLBRIDGE_H_
#define DLBRIDGE_DLBRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#include "dlbridge/dlpack.h"

/* ---------------------------------------------------------------------------------------------
 * Version and linkage
 * ------------------------------------------------------------------------------------------- */

/** Version of this header, semantic. \since 0.3.0 */
#define DLBRIDGE_VERSION_MAJOR 0
#define DLBRIDGE_VERSION_MINOR 4
#define DLBRIDGE_VERSION_PATCH 0
#define DLBRIDGE_VERSION_STRING "0.4.0"

/** Number of the ABI that this header describes. \since 0.3.0 */
#define DLBRIDGE_ABI 1

/** Largest ndim that any function accepts; no policy raises it. \since 0.3.0 */
#define DLBRIDGE_MAX_NDIM 64

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

/** The initialiser of a DLDevice that is not set. \since 0.3.0 */
#ifdef __cplusplus
#define DLBRIDGE_NO_DEVICE {DLDeviceType(), 0}
#else
#define DLBRIDGE_NO_DEVICE {(DLDeviceType)0, 0}
#endif

/** Outcome of a call; 0 is success. Values this header does not list may come from a newer library.
 * \since 0.3.0 */
typedef int32_t DLBridgeStatus;

/* [facts/statuses.toml] */
/** \since 0.3.0 */
enum {
  /** Success. */
  DLBRIDGE_OK = 0,
  /** The caller's fault: a NULL that is not allowed, a struct_size or option out of range, or a changed
   * dlbridge-owned struct. The message names the argument. */
  DLBRIDGE_ERROR_INVALID_ARGUMENT = 1,
  /** The caller is newer than the library: it asks for an option, value or field that this library does
   * not know. Such a request is never ignored. */
  DLBRIDGE_ERROR_TOO_NEW = 2,
  /** The allocator of the system or of the caller returned NULL. */
  DLBRIDGE_ERROR_OUT_OF_MEMORY = 3,
  /** The producer's fault: the tensor breaks a rule of DLPack; `rule` names it. */
  DLBRIDGE_ERROR_INVALID_TENSOR = 4,
  /** Wrong major version, or the tensor needs a newer DLPack version than the consumer reads. */
  DLBRIDGE_ERROR_VERSION = 5,
  /** The tensor is legal, but the policy of this consumer rejects it; `rule` names the demand. */
  DLBRIDGE_ERROR_POLICY = 6,
  /** The source has a property that the target cannot represent, and the options do not allow the
   * loss. */
  DLBRIDGE_ERROR_UNREPRESENTABLE = 7,
  /** The consumer's DLPack release does not know a dtype code, device type or flag bit that it needs to
   * know. */
  DLBRIDGE_ERROR_UNKNOWN_CODE = 8,
  /** The function works on dlbridge-owned tensors only: call dlbridge_import first. */
  DLBRIDGE_ERROR_FOREIGN_TENSOR = 9,
  /** The request is legal, but this build cannot do it. Example: copying memory that the CPU cannot
   * read. */
  DLBRIDGE_ERROR_UNSUPPORTED = 10,
  /** The caller's buffer or storage is too small; the message has the needed size. */
  DLBRIDGE_ERROR_BUFFER_TOO_SMALL = 11,
  /** A text is not the name of a dtype or device. */
  DLBRIDGE_ERROR_PARSE = 12,
  /** Nothing suitable was found, such as a table in an exchange API chain. */
  DLBRIDGE_ERROR_NOT_FOUND = 13,
  /** A view would leave the elements of its parent. */
  DLBRIDGE_ERROR_BOUNDS = 14,
  /** The process was forked after the backend had been started; start it in the child only. */
  DLBRIDGE_ERROR_FORKED = 15,
  /** There is no driver for the device, or the driver has no device; dlbridge_backend_info reports the
   * reason. */
  DLBRIDGE_ERROR_UNAVAILABLE = 16,
  /** A driver call failed; the message has its name, `native_code` its code. */
  DLBRIDGE_ERROR_DRIVER = 17,
  /** The context table has another entry for that device or context. */
  DLBRIDGE_ERROR_EXISTS = 18,
  /** A stream is capturing a graph, which the call does not allow. */
  DLBRIDGE_ERROR_CAPTURE = 19,
  /** The bytes or file descriptors from another process are not a valid export. */
  DLBRIDGE_ERROR_DESCRIPTOR = 20,
  /** The kind of a managed tensor was not given, and its bytes do not decide it: pass its kind. */
  DLBRIDGE_ERROR_AMBIGUOUS = 21
};
/* [/facts] */

/** Which rule a tensor broke, or 0. Values this header does not list may come from a newer library.
 * \since 0.3.0 */
typedef int32_t DLBridgeRule;

/* [facts/rules.toml] */
/** After each rule its source: "DLPack" is the specification, "policy" a field of DLBridgePolicy,
 * "dlbridge" a decision of this library; other words name the functions that apply it. \since 0.3.0 */
enum {
  /** No rule is broken. */
  DLBRIDGE_RULE_NONE = 0,
  /** version.major is 1; with another major no field after `flags` is read (DLPack). */
  DLBRIDGE_RULE_VERSION_MAJOR = 1,
  /** ndim >= 0 (DLPack). */
  DLBRIDGE_RULE_NDIM_NEGATIVE = 2,
  /** ndim <= DLBRIDGE_MAX_NDIM and within the limits of the policy (dlbridge, policy). */
  DLBRIDGE_RULE_NDIM_LIMIT = 3,
  /** shape is not NULL if ndim > 0 (DLPack). */
  DLBRIDGE_RULE_SHAPE_NULL = 4,
  /** strides are not NULL if ndim > 0 and the tensor's version is 1.2 or later (DLPack 1.2). */
  DLBRIDGE_RULE_STRIDES_NULL = 5,
  /** bits >= 1 (dlbridge). */
  DLBRIDGE_RULE_DTYPE_BITS_ZERO = 6,
  /** lanes >= 1 (dlbridge). */
  DLBRIDGE_RULE_DTYPE_LANES_ZERO = 7,
  /** lanes < 0x8000: more is a scalable vector in TVM, whose size is not known (dlbridge). */
  DLBRIDGE_RULE_DTYPE_LANES_SCALABLE = 8,
  /** bool and float8 have 8 bits, float6 6, float4 4, bfloat 16 (DLPack). */
  DLBRIDGE_RULE_DTYPE_BITS_FIXED = 9,
  /** The dtype code is known to the consumer's version (policy, conversions). */
  DLBRIDGE_RULE_DTYPE_UNKNOWN = 10,
  /** The device type is known to the consumer's version (policy, conversions). */
  DLBRIDGE_RULE_DEVICE_UNKNOWN = 11,
  /** All flag bits are known to the consumer's version (policy, conversions). */
  DLBRIDGE_RULE_FLAGS_UNKNOWN = 12,
  /** device_id >= 0 (dlbridge). */
  DLBRIDGE_RULE_DEVICE_ID_NEGATIVE = 13,
  /** device_id is 0 on host-like memory; only a note, since producers differ (DLPack). */
  DLBRIDGE_RULE_DEVICE_ID_HOST = 14,
  /** Each extent >= 0 (DLPack). */
  DLBRIDGE_RULE_EXTENT_NEGATIVE = 15,
  /** The number of elements fits 63 bits (dlbridge). */
  DLBRIDGE_RULE_COUNT_OVERFLOW = 16,
  /** The packed size in bytes fits 63 bits (dlbridge). */
  DLBRIDGE_RULE_SIZE_OVERFLOW = 17,
  /** The offsets of the first and last element, and of their bytes, fit 63 bits and a sign
   * (dlbridge). */
  DLBRIDGE_RULE_OFFSET_OVERFLOW = 18,
  /** data is not NULL unless the tensor is empty (DLPack). */
  DLBRIDGE_RULE_DATA_NULL = 19,
  /** All bytes from data + byte_offset lie inside the address space (dlbridge). */
  DLBRIDGE_RULE_ADDRESS_RANGE = 20,
  /** No element lies before the start of an opaque handle (dlbridge). */
  DLBRIDGE_RULE_HANDLE_RANGE = 21,
  /** All elements lie inside `buffer_size` bytes from `data` (policy). */
  DLBRIDGE_RULE_BUFFER_BOUNDS = 22,
  /** The layout has the required contiguity (policy). */
  DLBRIDGE_RULE_CONTIGUITY = 23,
  /** Element (0,...,0) has the required alignment (policy). */
  DLBRIDGE_RULE_ALIGNMENT = 24,
  /** The policy lists the device (policy). */
  DLBRIDGE_RULE_DEVICE_REJECTED = 25,
  /** The policy lists the dtype (policy). */
  DLBRIDGE_RULE_DTYPE_REJECTED = 26,
  /** The tensor may be written to (policy). */
  DLBRIDGE_RULE_NOT_WRITABLE = 27,
  /** No negative strides (policy). */
  DLBRIDGE_RULE_NEGATIVE_STRIDE = 28,
  /** No zero strides on axes longer than 1 (policy). */
  DLBRIDGE_RULE_ZERO_STRIDE = 29,
  /** No two elements share memory if the policy demands a writable tensor (policy). */
  DLBRIDGE_RULE_SELF_OVERLAP = 30,
  /** Element (0,...,0) is aligned to the size of its lane; only a note (dlbridge). */
  DLBRIDGE_RULE_DATA_UNALIGNED = 31,
  /** The version that a tensor carries has all codes and flags that it uses; only a note (DLPack). */
  DLBRIDGE_RULE_VERSION_LABEL = 32,
  /** The consumer's version can describe the tensor (conversions). */
  DLBRIDGE_RULE_REQUIRED_VERSION = 33,
  /** The tensor is not READ_ONLY, which a legacy tensor cannot record (downgrade). */
  DLBRIDGE_RULE_LEGACY_READ_ONLY = 34,
  /** Sub-byte elements are not padded, which a legacy tensor cannot record (downgrade). */
  DLBRIDGE_RULE_LEGACY_PADDED = 35,
  /** The legacy version knows the dtype code: codes up to bool (downgrade). */
  DLBRIDGE_RULE_LEGACY_DTYPE = 36,
  /** The legacy version knows the device type: types up to Hexagon (downgrade). */
  DLBRIDGE_RULE_LEGACY_DEVICE = 37,
  /** byte_offset is folded only if `data` is an address (conversions). */
  DLBRIDGE_RULE_OFFSET_FOLD = 38,
  /** All elements of a view lie inside the range of its parent (views). */
  DLBRIDGE_RULE_VIEW_BOUNDS = 39,
  /** A view of packed sub-byte elements starts at a whole byte (views). */
  DLBRIDGE_RULE_VIEW_OFFSET = 40,
  /** The tensor does not live in the caller's storage (upgrade_into), which cannot have a second owner
   * (owners). */
  DLBRIDGE_RULE_IN_STORAGE = 41,
  /** The CPU can read the memory to copy (copies). */
  DLBRIDGE_RULE_COPY_DEVICE = 42,
  /** The driver reports the memory on the device that the label names (level DEVICE). */
  DLBRIDGE_RULE_DEVICE_LABEL = 43,
  /** All elements lie inside the allocation that the driver reports (level DEVICE). */
  DLBRIDGE_RULE_ALLOCATION_BOUNDS = 44,
  /** Each extent equals the one in the policy's shape (policy). */
  DLBRIDGE_RULE_SHAPE_MISMATCH = 45
};
/* [/facts] */

/** What went wrong; the caller's memory, nothing to free. 256 bytes for ever. It needs no
 * initialisation: a failing call writes every field and a NUL-terminated message, whose unused bytes
 * mean nothing. After success no field means anything.
 * \since 0.3.0 */
typedef struct DLBridgeError {
  DLBridgeStatus status; /**< The status that the call returned. */
  DLBridgeRule rule;     /**< The rule broken, or DLBRIDGE_RULE_NONE. */
  int32_t axis;          /**< Axis concerned, from 0; -1 where none applies. */
  int32_t native_code;   /**< Code of the driver's call that failed; 0 where none did. */
  uint64_t reserved[2];  /**< 0 */
  char message[224];     /**< UTF-8, NUL-terminated: expected, found, what to do. */
} DLBridgeError;

/** Static initialiser; no call needs it. \since 0.3.0 */
#define DLBRIDGE_ERROR_INIT {DLBRIDGE_OK, DLBRIDGE_RULE_NONE, -1, 0, {0, 0}, {0}}

/* ---------------------------------------------------------------------------------------------
 * Identity
 * ------------------------------------------------------------------------------------------- */

/** Version of the library that is loaded, as major * 10000 + minor * 100 + patch. \since 0.3.0 */
DLBRIDGE_API uint32_t dlbridge_version(void);

/** As dlbridge_version, as text such as "0.3.0"; static, never NULL. \since 0.3.0 */
DLBRIDGE_API const char* dlbridge_version_string(void);

/** Newest DLPack release that the library knows. \since 0.3.0 */
DLBRIDGE_API DLPackVersion dlbridge_dlpack_version(void);

/** Name of a status such as "DLBRIDGE_ERROR_VERSION", for logs; static, never NULL ("UNKNOWN_STATUS"
 * for other integers). \since 0.3.0 */
DLBRIDGE_API const char* dlbridge_status_name(DLBridgeStatus status);

/** One English sentence on a status; static, never NULL. \since 0.3.0 */
DLBRIDGE_API const char* dlbridge_status_text(DLBridgeStatus status);

/** Name of a rule such as "NDIM_NEGATIVE"; static, never NULL ("UNKNOWN_RULE" for other integers).
 * \since 0.3.0 */
DLBRIDGE_API const char* dlbridge_rule_name(DLBridgeRule rule);

/** One English phrase on what is wrong when a rule is broken; static, never NULL. \since 0.3.0 */
DLBRIDGE_API const char* dlbridge_rule_text(DLBridgeRule rule);

/* ---------------------------------------------------------------------------------------------
 * Kinds and answers
 * ------------------------------------------------------------------------------------------- */

/** The struct that a pointer refers to. \since 0.3.0 */
typedef int32_t DLBridgeKind;

/* [facts/enums.toml KIND] */
/** \since 0.3.0 */
enum {
  /** As an argument: the bytes decide. As the answer of dlbridge_identify: the bytes fit neither
   * kind. */
  DLBRIDGE_KIND_UNKNOWN = 0,
  /** A DLManagedTensor. */
  DLBRIDGE_KIND_LEGACY = 1,
  /** A DLManagedTensorVersioned. */
  DLBRIDGE_KIND_VERSIONED = 2,
  /** A DLTensor, which has no owner (dlbridge_diagnose). */
  DLBRIDGE_KIND_BORROWED = 3,
  /** Only an answer, never an argument: the bytes fit both managed kinds. */
  DLBRIDGE_KIND_AMBIGUOUS = 4
};
/* [/facts] */

/** Answer to a question that cannot always be answered. \since 0.3.0 */
typedef int32_t DLBridgeAnswer;

/* [facts/enums.toml ANSWER] */
/** \since 0.3.0 */
enum {
  DLBRIDGE_NO = 0,        /**< No. */
  DLBRIDGE_YES = 1,       /**< Yes. */
  DLBRIDGE_UNDECIDED = 2  /**< It cannot be decided. */
};
/* [/facts] */

/* ---------------------------------------------------------------------------------------------
 * Describe: metadata only, `data` is never touched
 * ------------------------------------------------------------------------------------------- */

/* [facts/enums.toml LAYOUT] */
/** Bits of DLBridgeLayout::properties. \since 0.3.0 */
enum {
  DLBRIDGE_LAYOUT_EMPTY = 1 << 0,            /**< An extent is 0. */
  DLBRIDGE_LAYOUT_C_CONTIGUOUS = 1 << 1,     /**< Compact, last axis fastest; always set if empty. */
  DLBRIDGE_LAYOUT_F_CONTIGUOUS = 1 << 2,     /**< Compact, first axis fastest; always set if empty. */
  DLBRIDGE_LAYOUT_BROADCAST = 1 << 3,        /**< Some axis longer than 1 has stride 0. */
  DLBRIDGE_LAYOUT_NEGATIVE_STRIDES = 1 << 4, /**< Some axis longer than 1 has a negative stride. */
  DLBRIDGE_LAYOUT_PADDED = 1 << 5,           /**< Sub-byte elements are padded to whole bytes. */
  DLBRIDGE_LAYOUT_OPAQUE = 1 << 6            /**< `data` is a handle, not an address. */
};
/* [/facts] */

/** How a tensor lies in memory. Axes of extent 1 never count, whatever their stride. \since 0.3.0 */
typedef struct DLBridgeLayout {
  uint32_t struct_size;        /**< In: sizeof(DLBridgeLayout). Out: bytes filled. */
  uint32_t options;            /**< In: 0. */
  uint32_t properties;         /**< DLBRIDGE_LAYOUT_* */
  uint32_t item_bits;          /**< Bits from one element to the next: bits * lanes, rounded up to
                                    whole bytes where the padded flag is set. */
  DLBridgeAnswer self_overlap; /**< Do two elements share memory? NO and YES are exact; UNDECIDED
                                    after a bounded effort. */
  int32_t ndim;                /**< Number of axes. */
  int64_t element_count;       /**< Product of the extents; 1 for a scalar. */
  int64_t packed_bytes;        /**< Bytes of the same elements laid out compactly. */
  int64_t begin;               /**< First byte touched, relative to data + byte_offset; <= 0. */
  int64_t end;                 /**< One past the last byte touched; 0, 0 when empty. */
  uint64_t broadcast_axes;     /**< Bit i: axis i is longer than 1 and has stride 0. */
  uint64_t negative_axes;      /**< Bit i: axis i is longer than 1, stride negative. */
  uint64_t alignment;          /**< Largest power of two that divides the address of element
                                    (0,...,0); of byte_offset where `data` is a handle; 0 if that
                                    address is 0. */
} DLBridgeLayout;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_LAYOUT_INIT {sizeof(DLBridgeLayout), 0, 0, 0, DLBRIDGE_NO, 0, 0, 0, 0, 0, 0, 0, 0}

/** Returns DLBRIDGE_LAYOUT_INIT. \since 0.3.0 */
static inline DLBridgeLayout dlbridge_layout_init(void) {
  DLBridgeLayout value = DLBRIDGE_LAYOUT_INIT;
  return value;
}

/** Describes the layout of `tensor`; `tensor_flags` are those of its versioned struct, or 0. Reads shape
 * and strides. Rejects a tensor without a layout (rules on ndim, dtype bits and lanes, shape, overflow).
 * Accepts any device, id, data pointer and version, and lanes of scalable vectors (0x8000 and above),
 * which it counts as that many lanes. Any tensor error. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_layout(const DLTensor* tensor, uint64_t tensor_flags,
                                            DLBridgeLayout* out, DLBridgeError* error);

/** Writes the name of `dtype`: "float32", "bfloat16x4", "float8_e4m3fn", "bool", "complex64",
 * "opaque64"; a dtype without a name as "dtype(code,bits,lanes)". dlbridge_dtype_parse reads each.
 *
 * `buffer` of `size` bytes receives text and NUL; it may be NULL where size is 0, to ask for the
 * length. `*length`, unless NULL, receives the length without NUL, also when the text did not fit:
 * then as much as fits is written, with NUL, and the status is DLBRIDGE_ERROR_BUFFER_TOO_SMALL.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_dtype_format(DLDataType dtype, char* buffer, size_t size,
                                                  size_t* length, DLBridgeError* error);

/** Reads a name of `length` bytes as dlbridge_dtype_format writes it. Errors: PARSE. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_dtype_parse(const char* text, size_t length, DLDataType* out,
                                                 DLBridgeError* error);

/** Writes the name of `device`, "cpu:0", "cuda:1", "rocm_host:0"; a type without a name as
 * "device(99):0". Buffer and length as for dlbridge_dtype_format. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_format(DLDevice device, char* buffer, size_t size,
                                                   size_t* length, DLBridgeError* error);

/** Reads a name of `length` bytes as dlbridge_device_format writes it; "cuda" means "cuda:0".
 * Errors: PARSE. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_device_parse(const char* text, size_t length, DLDevice* out,
                                                  DLBridgeError* error);

/** Writes one line on `tensor` for logs: dtype, shape, strides, device, data, byte offset, flags.
 * Accepts broken tensors too (it reads no shape where ndim is negative, and at most 64 axes). Buffer
 * and length as for dlbridge_dtype_format. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_tensor_format(const DLTensor* tensor, uint64_t tensor_flags,
                                                   char* buffer, size_t size, size_t* length,
                                                   DLBridgeError* error);

/** Returns 1 if the CPU can certainly read memory of this device type, else 0. `*answer`, unless NULL,
 * is YES, NO or UNDECIDED. UNDECIDED: it depends on the allocation (oneAPI), or no DLPack release
 * defines the type. \since 0.3.0 */
DLBRIDGE_API int32_t dlbridge_host_accessible(int32_t device_type, DLBridgeAnswer* answer);

/* ---------------------------------------------------------------------------------------------
 * Validate
 * ------------------------------------------------------------------------------------------- */

/* [facts/enums.toml LEVEL] */
/** How much a validation reads: values of DLBridgePolicy::level. \since 0.3.0 */
enum {
  /** METADATA. */
  DLBRIDGE_LEVEL_DEFAULT = 0,
  /** The struct itself: version, ndim, dtype, device, flags, and which pointers are NULL. */
  DLBRIDGE_LEVEL_STRUCT = 1,
  /** Also the `ndim` entries of shape and strides. */
  DLBRIDGE_LEVEL_METADATA = 2,
  /** Also asks the driver about `data`, which may start the driver. Rejects a wrong device label,
   * elements outside the allocation or the mapped memory, a writable tensor of memory that kernels
   * must not write to, and memory that no driver can be asked about (UNAVAILABLE, UNSUPPORTED). For
   * kDLCPU only drivers that are already started are asked. The size is not checked if no driver knows
   * it. */
  DLBRIDGE_LEVEL_DEVICE = 3
};
/* [/facts] */

/* [facts/enums.toml POLICY] */
/** Bits of DLBridgePolicy::options. \since 0.3.0 */
enum {
  /** Rejects dtype codes that `version` does not know. */
  DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE = 1 << 8,
  /** Rejects device types that `version` does not know. */
  DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE = 1 << 9,
  /** Rejects flag bits that `version` does not know. */
  DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS = 1 << 10,
  /** Rejects negative strides. */
  DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES = 1 << 11,
  /** Rejects zero strides on axes longer than 1. */
  DLBRIDGE_POLICY_REJECT_ZERO_STRIDES = 1 << 12,
  /** Accepts NULL strides also on tensors of version 1.2 or later. */
  DLBRIDGE_POLICY_ALLOW_NULL_STRIDES = 1 << 13,
  /** Accepts lanes >= 0x8000 as that many lanes. */
  DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES = 1 << 14,
  /** Rejects READ_ONLY tensors, and tensors with elements that overlap. */
  DLBRIDGE_POLICY_REQUIRE_WRITABLE = 1 << 15,
  /** The caller knows that a legacy or borrowed tensor is writable; READ_ONLY still binds. */
  DLBRIDGE_POLICY_VOUCH_WRITABLE = 1 << 16,
  /** Accepts elements that overlap, even if a writable tensor is required. */
  DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP = 1 << 17,
  /** `min_ndim` and `max_ndim` are read. */
  DLBRIDGE_POLICY_LIMIT_NDIM = 1 << 18,
  /** `buffer_size` is read. */
  DLBRIDGE_POLICY_LIMIT_BUFFER = 1 << 19
};
/* [/facts] */

/* [facts/enums.toml CONTIGUITY] */
/** Values of DLBridgePolicy::contiguity. \since 0.3.0 */
enum {
  DLBRIDGE_CONTIGUITY_ANY = 0,    /**< Any layout. */
  DLBRIDGE_CONTIGUITY_C = 1,      /**< Compact, last axis fastest. */
  DLBRIDGE_CONTIGUITY_F = 2,      /**< Compact, first axis fastest. */
  DLBRIDGE_CONTIGUITY_C_OR_F = 3  /**< Either of the two. */
};
/* [/facts] */

/** A consumer's requirements. The arrays are borrowed for the call. At DLBRIDGE_LEVEL_STRUCT a
 * requirement on shape or strides is an invalid argument; it is never ignored. \since 0.3.0 */
typedef struct DLBridgePolicy {
  uint32_t struct_size;     /**< sizeof(DLBridgePolicy) */
  uint32_t options;         /**< DLBRIDGE_POLICY_* */
  DLPackVersion version;    /**< Newest DLPack that the consumer reads; {0, 0}: the default. */
  int32_t level;            /**< DLBRIDGE_LEVEL_*; 0: METADATA. */
  int32_t contiguity;       /**< DLBRIDGE_CONTIGUITY_* */
  int32_t min_ndim;         /**< Smallest and largest ndim accepted, 0 to DLBRIDGE_MAX_NDIM. Read */
  int32_t max_ndim;         /**< with LIMIT_NDIM; must be 0 without it. */
  uint64_t alignment;       /**< Bytes, a power of two, that the address of element (0,...,0) must be a
                                 multiple of; 0: any. An empty tensor meets any. */
  uint64_t buffer_size;     /**< Bytes at `data` that all elements must lie inside. Read with
                                 LIMIT_BUFFER; must be 0 without it. */
  const DLDevice* devices;  /**< Devices accepted, with id -1 for any id; NULL: all. */
  size_t device_count;      /**< Entries of `devices`, 0 exactly where that is NULL. */
  const DLDataType* dtypes; /**< Dtypes accepted, compared exactly; NULL: all. */
  size_t dtype_count;       /**< Entries of `dtypes`, 0 exactly where that is NULL. */
  const int64_t* shape;     /**< `max_ndim` extents that the tensor must have, -1 for any; needs
                                 LIMIT_NDIM with min_ndim equal to max_ndim. NULL: any. */
} DLBridgePolicy;

/** Static initialiser: the default policy, which NULL stands for. \since 0.3.0 */
#define DLBRIDGE_POLICY_INIT \
  {sizeof(DLBridgePolicy), 0, {0, 0}, 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL}

/** Returns DLBRIDGE_POLICY_INIT. \since 0.3.0 */
static inline DLBridgePolicy dlbridge_policy_init(void) {
  DLBridgePolicy value = DLBRIDGE_POLICY_INIT;
  return value;
}

/** Checks a borrowed tensor. `tensor_flags` are its DLPack flags, 0 if unknown. `policy` may be NULL.
 * Stops at the first broken rule. The tensor is only read. Any tensor error. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_validate(const DLTensor* tensor, uint64_t tensor_flags,
                                              const DLBridgePolicy* policy, DLBridgeError* error);

/** As dlbridge_validate, for a legacy tensor, which has no flags. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_validate_legacy(const DLManagedTensor* tensor,
                                                     const DLBridgePolicy* policy,
                                                     DLBridgeError* error);

/** As dlbridge_validate, for a versioned tensor. If its major is not 1, only `version` is read.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_validate_versioned(const DLManagedTensorVersioned* tensor,
                                                        const DLBridgePolicy* policy,
                                                        DLBridgeError* error);

/* [facts/enums.toml SEVERITY] */
/** The severity of a finding. \since 0.3.0 */
enum {
  DLBRIDGE_SEVERITY_BROKEN = 1, /**< A broken rule, for which dlbridge_validate rejects the tensor. */
  DLBRIDGE_SEVERITY_NOTE = 2    /**< For information only. */
};
/* [/facts] */

/** One finding about a tensor; 256 bytes for ever. \since 0.3.0 */
typedef struct DLBridgeFinding {
  DLBridgeRule rule;     /**< DLBRIDGE_RULE_* */
  int32_t axis;          /**< Axis concerned, or -1. */
  int32_t severity;      /**< DLBRIDGE_SEVERITY_* */
  DLBridgeStatus status; /**< What dlbridge_validate would return for it; 0 for a note. */
  uint64_t reserved[2];  /**< 0 */
  char expected[128];    /**< Such as "at least 0"; NUL-terminated. */
  char found[96];        /**< Such as "-3"; NUL-terminated. */
} DLBridgeFinding;

/** Reports every finding on `tensor`, a struct of `kind` (LEGACY, VERSIONED or BORROWED;
 * `tensor_flags` is for BORROWED and 0 otherwise). Fills up to `capacity` entries of `findings` (NULL
 * where capacity is 0) and sets `*count` to the number of findings, which may be larger. A finding that
 * makes the rest unreadable is the last. Returns DLBRIDGE_OK for a broken tensor too: errors are about
 * the arguments only. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_diagnose(const void* tensor, DLBridgeKind kind,
                                              uint64_t tensor_flags, const DLBridgePolicy* policy,
                                              DLBridgeFinding* findings, size_t capacity,
                                              size_t* count, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Convert
 * ------------------------------------------------------------------------------------------- */

/** A stream, which orders work; see "Streams". */
struct DLBridgeStream;

/** An allocator of the caller. Both functions are copied from this struct; `context` must outlive
 * the memory. \since 0.3.0 */
typedef struct DLBridgeAllocator {
  uint32_t struct_size; /**< sizeof(DLBridgeAllocator) */
  uint32_t options;     /**< 0 */
  void* context;        /**< Passed to both functions; may be NULL. */
  /** Returns `bytes` (never 0) of memory of `device`, aligned to `alignment` (a power of two), or NULL.
   * The memory may be used by work on `stream`; NULL: by anything from now on. Not NULL. */
  void* (*allocate)(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
                    const struct DLBridgeStream* stream);
  /** Called once per allocation with the same values, on any thread, possibly much later. The memory
   * may be reused when the work enqueued on `stream` so far is done; NULL: now. Not NULL. */
  void (*deallocate)(void* context, DLDevice device, void* memory, uint64_t bytes, uint64_t alignment,
                     const struct DLBridgeStream* stream);
} DLBridgeAllocator;

/** Static initialiser; both functions must be set. \since 0.3.0 */
#define DLBRIDGE_ALLOCATOR_INIT {sizeof(DLBridgeAllocator), 0, NULL, NULL, NULL}

/** Returns DLBRIDGE_ALLOCATOR_INIT. \since 0.3.0 */
static inline DLBridgeAllocator dlbridge_allocator_init(void) {
  DLBridgeAllocator value = DLBRIDGE_ALLOCATOR_INIT;
  return value;
}

/* [facts/enums.toml CONVERT] */
/** Bits of DLBridgeConvertOptions::options. \since 0.3.0 */
enum {
  /** Skip validation: the caller knows that the tensor is valid. Only ndim and a NULL shape are
   * checked. The policy must be NULL. A COPY is validated nevertheless, since it depends on the
   * layout. */
  DLBRIDGE_CONVERT_SKIP_VALIDATION = 1 << 8,
  /** The caller knows that a legacy source is writable. Without this bit the result is READ_ONLY. A
   * recorded READ_ONLY stays. */
  DLBRIDGE_CONVERT_VOUCH_WRITABLE = 1 << 9,
  /** Accept dtype codes, device types and flag bits that the consumer's version does not know. A
   * versioned source then keeps its version, since an unknown bit may change the layout. */
  DLBRIDGE_CONVERT_ALLOW_UNKNOWN = 1 << 10,
  /** Write the result in canonical form: compact strides on empty tensors and on axes of extent 1, NULL
   * data if empty, device id 0 on host-like memory. */
  DLBRIDGE_CONVERT_CANONICAL = 1 << 11,
  /** Add byte_offset to data. Rejected if `data` is not an address. */
  DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET = 1 << 12,
  /** Copy the data to compact memory of the allocator; the CPU must be able to read it. The result is
   * writable; a versioned result has IS_COPIED. The source is released. A downgrade with COPY also
   * accepts READ_ONLY and padded tensors. Unknown flag bits are always rejected, since they may change
   * the layout. */
  DLBRIDGE_CONVERT_COPY = 1 << 13,
  /** To legacy: READ_ONLY may be lost. */
  DLBRIDGE_CONVERT_DROP_READ_ONLY = 1 << 14,
  /** To legacy: the padded flag may be lost. */
  DLBRIDGE_CONVERT_DROP_PADDED = 1 << 15,
  /** To legacy: accept dtype codes and device types newer than the legacy version. */
  DLBRIDGE_CONVERT_ALLOW_NEWER_CODES = 1 << 16,
  /** Keep the module of the producer's deleter loaded, as dlbridge_module_pin does: for producers in
   * plugins. For a dlbridge-owned tensor this is the module of its source's deleter, or of the
   * `deallocate` of its memory. This is the last step: a source that is rejected for another reason
   * pins nothing. In a batch, modules pinned before the failing one stay pinned. Nothing is pinned for
   * a NULL deleter or a COPY. */
  DLBRIDGE_CONVERT_PIN_PRODUCER = 1 << 17
};
/* [/facts] */

/** How to convert. All pointers are borrowed for the call. \since 0.3.0 */
typedef struct DLBridgeConvertOptions {
  uint32_t struct_size;               /**< sizeof(DLBridgeConvertOptions) */
  uint32_t options;                   /**< DLBRIDGE_CONVERT_* */
  DLPackVersion version;              /**< Newest DLPack that the consumer reads. To versioned: of major
                                           1, {0, 0}: the default; the result carries the smaller of it
                                           and the library's. dlbridge_downgrade: of major 0, {0, 0}: the
                                           last legacy one. dlbridge_export: {0, 0}; its target decides.
                                           A tensor that needs a newer version is rejected. */
  uint64_t tensor_flags;              /**< DLPack flags that the caller knows of a legacy source, which
                                           cannot record them. Unused for a versioned one. */
  const DLBridgePolicy* policy;       /**< Validate by it first; NULL: the default policy. */
  const DLBridgeAllocator* allocator; /**< Memory for COPY; NULL: the system's, 256-byte aligned. */
} DLBridgeConvertOptions;

/** Static initialiser: the default options, which NULL stands for. \since 0.3.0 */
#define DLBRIDGE_CONVERT_OPTIONS_INIT \
  {sizeof(DLBridgeConvertOptions), 0, {0, 0}, 0, NULL, NULL}

/** Returns DLBRIDGE_CONVERT_OPTIONS_INIT. \since 0.3.0 */
static inline DLBridgeConvertOptions dlbridge_convert_options_init(void) {
  DLBridgeConvertOptions value = DLBRIDGE_CONVERT_OPTIONS_INIT;
  return value;
}

/** Turns any managed tensor into a validated, dlbridge-owned versioned tensor: THE FUNCTION FOR TENSORS
 * FROM FOREIGN CODE. `kind` is LEGACY, VERSIONED, or UNKNOWN for a channel that carries a void*.
 *
 * UNKNOWN decides by exclusion. If the first bytes cannot be a version, the tensor is legacy, and its
 * broken rule is reported. A tensor that can be both kinds, or neither, is rejected with AMBIGUOUS.
 *
 * Success: `tensor` belongs to the library; `*out` is the caller's, is released once, and can be shared
 * and viewed. Shape and strides are copied, NULL strides filled in; the struct of the source is never
 * written to and is released with the last owner of the result. A dlbridge-owned heap tensor that
 * satisfies the options is handed back. A legacy source without VOUCH_WRITABLE becomes READ_ONLY.
 * Failure: `tensor` is untouched and the caller's. Any tensor error; AMBIGUOUS; OUT_OF_MEMORY;
 * UNKNOWN_CODE; UNSUPPORTED (copy of device memory); INVALID_ARGUMENT also for options that concern
 * legacy results only (DROP_*, ALLOW_NEWER_CODES). `options` may be NULL. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_import(void* tensor, DLBridgeKind kind,
                                            const DLBridgeConvertOptions* options,
                                            DLManagedTensorVersioned** out, DLBridgeError* error);

/** Converts `tensor`, a struct of `kind` (LEGACY, VERSIONED or UNKNOWN, as for dlbridge_import), to the
 * struct that a consumer of DLPack `target` reads: legacy if target.major is 0, else versioned.
 * `*out_kind` is LEGACY or VERSIONED, the struct that `*out` is.
 *
 * | source    | target 0.m (legacy)                    | target 1.m (versioned)                   |
 * |-----------|----------------------------------------|------------------------------------------|
 * | legacy    | handed back if codes are known to 0.m  | as dlbridge_upgrade                      |
 * | versioned | as dlbridge_downgrade to 0.m           | handed back if its version is at most    |
 * |           |                                        | 1.m, else a new node of version 1.m      |
 *
 * With CANONICAL, FOLD_BYTE_OFFSET or COPY a new tensor is made in every cell. Every tensor is
 * validated first. ALLOW_UNKNOWN lets unknown codes and flag bits pass, ALLOW_NEWER_CODES newer codes;
 * DROP_READ_ONLY, DROP_PADDED and COPY let known flags be lost in legacy. In a legacy target m above
 * 8 means 8; {0, 0} is rejected.
 * Ownership and errors as for dlbridge_upgrade and dlbridge_downgrade. `options` may be NULL.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_export(void* tensor, DLBridgeKind kind, DLPackVersion target,
                                            const DLBridgeConvertOptions* options, void** out,
                                            DLBridgeKind* out_kind, DLBridgeError* error);

/** Calls the deleter of `tensor`, a struct of `kind` (LEGACY or VERSIONED), if it has one. NULL is
 * accepted. Any other kind returns INVALID_ARGUMENT and calls nothing. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_release(void* tensor, DLBridgeKind kind);

/** Calls the deleter of `tensor`, where it has one. NULL is accepted. \since 0.3.0 */
DLBRIDGE_API void dlbridge_release_legacy(DLManagedTensor* tensor);

/** As dlbridge_release_legacy, for a versioned tensor of any major: nothing after `deleter` is read.
 * \since 0.3.0 */
DLBRIDGE_API void dlbridge_release_versioned(DLManagedTensorVersioned* tensor);

/** Converts a legacy tensor to a versioned one. Copies data only with DLBRIDGE_CONVERT_COPY.
 *
 * Success and failure as for dlbridge_import. If dlbridge_downgrade made the source and the source has
 * no other owner, the result is the tensor that dlbridge_downgrade was given, if it satisfies the
 * options. Otherwise the result carries everything that tensor carried. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_upgrade(DLManagedTensor* source,
                                             const DLBridgeConvertOptions* options,
                                             DLManagedTensorVersioned** out, DLBridgeError* error);

/** The caller's memory for dlbridge_upgrade_into. \since 0.3.0 */
typedef struct DLBridgeStorage {
  uint32_t struct_size; /**< sizeof(DLBridgeStorage) */
  uint32_t options;     /**< 0 */
  void* memory;         /**< Aligned to 16 bytes, apart from the source's struct, shape and strides
                             (checked) and its data (not checked); must stay until `release` ran, or
                             the tensor ended. */
  size_t size;          /**< At least dlbridge_upgrade_storage_size(ndim). */
  /** Called once when the storage is free again, on the thread of the last release, after the source's
   * deleter; may be NULL. */
  void (*release)(void* context, void* memory);
  void* release_context; /**< Passed to `release`; may be NULL. */
} DLBridgeStorage;

/** Static initialiser; `memory` must be set. \since 0.3.0 */
#define DLBRIDGE_STORAGE_INIT {sizeof(DLBridgeStorage), 0, NULL, 0, NULL, NULL}

/** Returns DLBRIDGE_STORAGE_INIT. \since 0.3.0 */
static inline DLBridgeStorage dlbridge_storage_init(void) {
  DLBridgeStorage value = DLBRIDGE_STORAGE_INIT;
  return value;
}

/** Bytes of storage that dlbridge_upgrade_into needs for `ndim` axes; 0 for an ndim below 0 or above
 * DLBRIDGE_MAX_NDIM. \since 0.3.0 */
DLBRIDGE_API size_t dlbridge_upgrade_storage_size(int32_t ndim);

/** As dlbridge_upgrade, but into the caller's storage and without allocating. The result is at the
 * start of the storage; dlbridge_share and dlbridge_view reject it (rule IN_STORAGE). COPY is an
 * invalid argument. A source made by dlbridge_downgrade keeps all flags, but the original itself is
 * not handed back: the result is always in the storage. Failure: BUFFER_TOO_SMALL with the needed size,
 * and what dlbridge_upgrade returns; the storage is free, its bytes unspecified. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_upgrade_into(DLManagedTensor* source,
                                                  const DLBridgeConvertOptions* options,
                                                  const DLBridgeStorage* storage,
                                                  DLManagedTensorVersioned** out,
                                                  DLBridgeError* error);

/** Upgrades `count` tensors, all or nothing. Success: as dlbridge_upgrade for each. Failure: all
 * sources are the caller's and untouched, `outs` is unwritten, and `*failed`, unless NULL, is the
 * index of the tensor that was rejected (`count` where none caused it). A tensor given twice is an
 * invalid argument. COPY is an invalid argument. `outs` may overlap `sources`. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_upgrade_many(DLManagedTensor* const* sources, size_t count,
                                                  const DLBridgeConvertOptions* options,
                                                  DLManagedTensorVersioned** outs, size_t* failed,
                                                  DLBridgeError* error);

/** Converts a versioned tensor to a legacy one. Rejects a tensor that legacy cannot record (rules
 * LEGACY_*), unless the options allow that loss or ask for a copy; IS_COPIED is dropped. The result is
 * always a new dlbridge-owned tensor. It remembers all flags and its writability, and upgrading it
 * restores them. Ownership as for dlbridge_upgrade. Any tensor error; UNREPRESENTABLE; UNKNOWN_CODE;
 * OUT_OF_MEMORY; UNSUPPORTED. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_downgrade(DLManagedTensorVersioned* source,
                                               const DLBridgeConvertOptions* options,
                                               DLManagedTensor** out, DLBridgeError* error);

/** Adds an independent owner of the same data. `tensor` must be dlbridge-owned, stays the
 * caller's, and must stay live for the call; it may be shared from several threads at once. `*out` is
 * the caller's and may outlive `tensor`: the data is released with its last owner. Errors:
 * FOREIGN_TENSOR, UNSUPPORTED with rule IN_STORAGE, INVALID_ARGUMENT where the struct was changed,
 * OUT_OF_MEMORY. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_share(const DLManagedTensorVersioned* tensor,
                                           DLManagedTensorVersioned** out, DLBridgeError* error);

/** Another shape on the data of a tensor. All zero: its first element as a scalar. \since 0.3.0 */
typedef struct DLBridgeViewSpec {
  uint32_t struct_size;   /**< sizeof(DLBridgeViewSpec) */
  uint32_t options;       /**< 0 */
  int32_t ndim;           /**< Axes of the view. */
  DLDataType dtype;       /**< Dtype of the view, of as many bits as the parent's; {0, 0, 0}: the
                               parent's. */
  const int64_t* shape;   /**< `ndim` extents; NULL where ndim is 0. */
  const int64_t* strides; /**< `ndim` strides in elements; NULL: compact, last axis fastest. */
  int64_t offset;         /**< Elements from the parent's (0,...,0) to the view's. */
} DLBridgeViewSpec;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_VIEW_SPEC_INIT {sizeof(DLBridgeViewSpec), 0, 0, {0, 0, 0}, NULL, NULL, 0}

/** Returns DLBRIDGE_VIEW_SPEC_INIT. \since 0.3.0 */
static inline DLBridgeViewSpec dlbridge_view_spec_init(void) {
  DLBridgeViewSpec value = DLBRIDGE_VIEW_SPEC_INIT;
  return value;
}

/** As dlbridge_share, with another shape, strides and offset. The elements of the view must lie between
 * the parent's lowest and highest element (an empty view is always inside). Device and flags are the
 * parent's. Errors: also BOUNDS with rules VIEW_BOUNDS and VIEW_OFFSET, and any tensor error.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_view(const DLManagedTensorVersioned* tensor,
                                          const DLBridgeViewSpec* spec,
                                          DLManagedTensorVersioned** out, DLBridgeError* error);

/* [facts/enums.toml ALLOCATE] */
/** Bits of DLBridgeAllocateSpec::options. \since 0.3.0 */
enum {
  /** Allocate memory that dlbridge_ipc_export can share with other processes: an anonymous memory file,
   * sealed against changes of its size. Only on the CPU and without an allocator. */
  DLBRIDGE_ALLOCATE_SHAREABLE = 1 << 8
};
/* [/facts] */

/** A tensor to allocate. \since 0.3.0 */
typedef struct DLBridgeAllocateSpec {
  uint32_t struct_size;               /**< sizeof(DLBridgeAllocateSpec) */
  uint32_t options;                   /**< DLBRIDGE_ALLOCATE_* */
  const int64_t* shape;               /**< `ndim` extents; NULL where ndim is 0. */
  int32_t ndim;                       /**< Number of axes; 0: a scalar. */
  DLDataType dtype;                   /**< Any dtype that validation accepts; must be set. */
  DLDevice device;                    /**< {0, 0}: the CPU; another one needs an allocator. */
  uint64_t alignment;                 /**< Bytes, a power of two; 0: 256. */
  uint64_t tensor_flags;              /**< DLPack flags of the result, such as the padded one. */
  DLPackVersion version;              /**< Newest DLPack that the consumer reads; {0, 0}: the default. */
  const DLBridgeAllocator* allocator; /**< NULL: the system's. */
} DLBridgeAllocateSpec;

/** Static initialiser; `dtype` must be set. \since 0.3.0 */
#define DLBRIDGE_ALLOCATE_SPEC_INIT                                                           \
  {sizeof(DLBridgeAllocateSpec), 0, NULL, 0, {0, 0, 0}, DLBRIDGE_NO_DEVICE, 0, 0, \
   {0, 0}, NULL}

/** Returns DLBRIDGE_ALLOCATE_SPEC_INIT. \since 0.3.0 */
static inline DLBridgeAllocateSpec dlbridge_allocate_spec_init(void) {
  DLBridgeAllocateSpec value = DLBRIDGE_ALLOCATE_SPEC_INIT;
  return value;
}

/** Allocates a compact dlbridge-owned tensor; its bytes are unspecified. An empty one has NULL data and
 * allocates none. Errors: any tensor error, OUT_OF_MEMORY, UNSUPPORTED (a device other than the CPU
 * without an allocator, SHAREABLE on a system without memory files), VERSION. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_allocate(const DLBridgeAllocateSpec* spec,
                                              DLManagedTensorVersioned** out, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Negotiate
 * ------------------------------------------------------------------------------------------- */

/** The oldest DLPack version that can describe `tensor` with `tensor_flags`, at least 0.2: decided by
 * dtype code, device type and flags; shape and strides are not read. Errors: UNKNOWN_CODE where no
 * release knows one of them. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_required_version(const DLTensor* tensor, uint64_t tensor_flags,
                                                      DLPackVersion* out, DLBridgeError* error);

/** Decides which struct a producer that supports versions up to `producer` hands to a consumer that
 * reads versions up to `consumer`, as the Python array API standard defines: legacy ({0, 8} at most) if
 * either is older than 1.0, else versioned with the smaller version. Errors: VERSION where a producer of
 * a higher major meets a versioned consumer of a lower one. `kind` and `version` are outputs.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_negotiate(DLPackVersion producer, DLPackVersion consumer,
                                               DLBridgeKind* kind, DLPackVersion* version,
                                               DLBridgeError* error);

/** Finds the newest table of a DLPackExchangeAPI chain that has the major `consumer.major` (1) and all
 * four mandatory functions. Other tables are skipped. At most 64 tables are read, so a ring
 * ends. `*out` is borrowed from the chain, for as long as its type lives. Errors: NOT_FOUND; VERSION
 * where consumer.major is not 1. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_exchange_api_find(const DLPackExchangeAPIHeader* chain,
                                                       DLPackVersion consumer,
                                                       const DLPackExchangeAPI** out,
                                                       DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Identify
 * ------------------------------------------------------------------------------------------- */

/** Decides by its bytes which managed struct `tensor` points to. Reads 64 bytes, the size of the smaller
 * struct, and follows no pointer. LEGACY, VERSIONED: the bytes cannot be the other kind (the tensor may
 * still be broken). AMBIGUOUS: the bytes can be both. UNKNOWN: they can be neither, or `tensor` is NULL.
 * dlbridge-owned tensors are always recognised. docs/identify.md lists the ambiguous bytes.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeKind dlbridge_identify(const void* tensor);

/* ---------------------------------------------------------------------------------------------
 * Plugins
 * ------------------------------------------------------------------------------------------- */

/** Keeps the module (shared library, plugin, DLL) that holds `address` loaded until the process ends,
 * with all that it needs, so that a deleter and static data inside it outlive its dlclose. Any address
 * inside works: the deleter, or static data where C forbids that conversion. The module must be
 * loaded during the call. The main program and libdlbridge.so are never unloaded, and both may be
 * named; a plugin that contains the static library must pin itself if its tensors can outlive it.
 * Repeating the call is harmless; it cannot be undone. It takes the lock of the system's loader, which
 * allocates. Errors: NOT_FOUND where no module holds the address (heap, stack, code made at run time);
 * UNSUPPORTED where the module cannot be kept, such as one in a linker namespace of its own.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_module_pin(const void* address, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Devices: what a driver knows
 *
 * A driver is loaded, never linked, and only by the first call that concerns its backend: a call
 * whose device, buffer or stream names it. A machine without drivers answers UNAVAILABLE, and
 * dlbridge_backend_info reports what was tried. The functions of this section may take a lock of the
 * library (while a driver is being started, so not from a constructor of a library that is being
 * loaded; never while other calls of it or a callback run), of the loader and of the driver, and the
 * first of them in a process reads the environment (DLBRIDGE_LIBCUDA, DLBRIDGE_LIBHIP, DLBRIDGE_LIBZE,
 * DLBRIDGE_LIBOPENCL: the file to load instead) and registers a fork handler.
 *
 * FORK. In the child of a process that had started a backend, calls that need it return
 * DLBRIDGE_ERROR_FORKED; deleters free memory of this library and call no driver. A backend that
 * had not been started works.
 *
 * Each function that may start a backend also returns UNAVAILABLE (no driver, or no device), FORKED,
 * and DRIVER with the name of the driver's call and its code.
 * ------------------------------------------------------------------------------------------- */

/** The driver of a device. \since 0.3.0 */
typedef int32_t DLBridgeBackend;

/* [facts/enums.toml BACKEND] */
/** \since 0.3.0 */
enum {
  DLBRIDGE_BACKEND_NONE = 0,       /**< Not set: the backend that the device implies. */
  DLBRIDGE_BACKEND_CPU = 1,        /**< The host. */
  DLBRIDGE_BACKEND_CUDA = 2,       /**< CUDA driver API: kDLCUDA, kDLCUDAHost, kDLCUDAManaged. */
  DLBRIDGE_BACKEND_HIP = 3,        /**< HIP runtime: kDLROCM, kDLROCMHost. */
  DLBRIDGE_BACKEND_LEVEL_ZERO = 4, /**< Level Zero: kDLOneAPI. */
  DLBRIDGE_BACKEND_OPENCL = 5      /**< OpenCL: kDLOpenCL, and kDLOneAPI if SYCL uses OpenCL. */
};
/* [/facts] */

/* [facts/enums.toml STATE] */
/** Values of DLBridgeBackendInfo::state. \since 0.3.0 */
enum {
  DLBRIDGE_STATE_READY = 1,    /**< Loaded and initialised, with at least one device. */
  DLBRIDGE_STATE_ABSENT = 2,   /**< No driver library could be loaded. */
  DLBRIDGE_STATE_UNUSABLE = 3  /**< Loaded, but it does not initialise or has no device. */
};
/* [/facts] */

/** State of a backend. Texts are NUL-terminated and cut where they do not fit. \since 0.3.0 */
typedef struct DLBridgeBackendInfo {
  uint32_t struct_size;     /**< In: sizeof(DLBridgeBackendInfo). Out: bytes filled. */
  uint32_t options;         /**< In: 0. */
  DLBridgeBackend backend;  /**< The backend asked for. */
  int32_t state;            /**< DLBRIDGE_STATE_* */
  int32_t device_count;     /**< Devices of this process; 0 unless READY. */
  int32_t driver_code;      /**< What the driver's initialisation returned; 0 where none was called. */
  char driver_version[64];  /**< As the driver reports it: "12.2"; empty where unknown. */
  char runtime_version[64]; /**< Of the loader or runtime: "1.8.12"; empty where there is none. */
  char file[256];           /**< The library in use, or that `reason` is about; empty where ABSENT. */
  char reason[616];         /**< Not READY: each path tried with the loader's reason, or the driver's
                                 call and code. Empty where READY. */
} DLBridgeBackendInfo;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_BACKEND_INFO_INIT \
  {sizeof(DLBridgeBackendInfo), 0, DLBRIDGE_BACKEND_NONE, 0, 0, 0, {0}, {0}, {0}, {0}}

/** Returns DLBRIDGE_BACKEND_INFO_INIT. \since 0.3.0 */
static inline DLBridgeBackendInfo dlbridge_backend_info_init(void) {
  DLBridgeBackendInfo value = DLBRIDGE_BACKEND_INFO_INIT;
  return value;
}

/** Starts `backend` (CPU to OPENCL) unless it is READY, and reports the outcome. An absent driver is no
 * error, and is found by a later call once any library has loaded it into the process; so is a copy
 * that works where another copy does not. Errors: FORKED; INVALID_ARGUMENT for NONE and below, TOO_NEW
 * above OPENCL. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_backend_info(DLBridgeBackend backend, DLBridgeBackendInfo* out,
                                                  DLBridgeError* error);

/* [facts/enums.toml BUFFER] */
/** Values of DLBridgeBuffer::kind. \since 0.3.0 */
enum {
  /** The kind that the device implies: CL_MEM for kDLOpenCL, HANDLE for kDLVulkan, kDLMetal, kDLWebGPU
   * and kDLVPI, else ADDRESS. */
  DLBRIDGE_BUFFER_DEFAULT = 0,
  /** An address: host memory, CUdeviceptr, HIP, USM or SVM pointer, pinned or managed memory. */
  DLBRIDGE_BUFFER_ADDRESS = 1,
  /** A cl_mem, which is a handle: no offset is ever added to it. */
  DLBRIDGE_BUFFER_CL_MEM = 2,
  /** Another opaque handle: Vulkan, Metal, WebGPU, VPI. No driver is asked about it. */
  DLBRIDGE_BUFFER_HANDLE = 3
};
/* [/facts] */

/** Memory of a device, as its driver names it; 32 bytes for ever. \since 0.3.0 */
typedef struct DLBridgeBuffer {
  DLBridgeBackend backend; /**< Whose memory; NONE: not set. */
  int32_t kind;            /**< DLBRIDGE_BUFFER_* */
  uint64_t handle;         /**< The address or handle. */
  uint64_t context;        /**< ze_context_handle_t or cl_context that it belongs to; 0: not set. */
  uint64_t reserved;       /**< 0 */
} DLBridgeBuffer;

/** Static initialiser: nothing is set. \since 0.3.0 */
#define DLBRIDGE_BUFFER_INIT {DLBRIDGE_BACKEND_NONE, 0, 0, 0, 0}

/** Returns DLBRIDGE_BUFFER_INIT. \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_init(void) {
  DLBridgeBuffer value = DLBRIDGE_BUFFER_INIT;
  return value;
}

/** A buffer of an address, backend and context not set. \since 0.3.0 */
static inline DLBridgeBuffer dlbridge_buffer_address(const void* address) {
  DLBridgeBuffer buffer = DLBRIDGE_BUFFER_INIT;
  buffer.kind = DLBRIDGE_BUFFER_ADDRESS;
#ifdef __cplusplus
  buffer.handle = reinterpret_cast<uintptr_t>(address);
#else
  buffer.handle = (uintptr_t)address;
#endif
  return buffer;
}

/* [facts/enums.toml MEMORY] */
/** Values of DLBridgePointerInfo::memory. \since 0.3.0 */
enum {
  DLBRIDGE_MEMORY_HOST = 1,       /**< Ordinary host memory: no driver knows it. */
  DLBRIDGE_MEMORY_DEVICE = 2,     /**< Device memory of CUDA or HIP. */
  DLBRIDGE_MEMORY_PINNED = 3,     /**< Host memory that CUDA or HIP has pinned or registered. */
  DLBRIDGE_MEMORY_MANAGED = 4,    /**< Managed memory of CUDA or HIP. */
  DLBRIDGE_MEMORY_USM_HOST = 5,   /**< Host USM of Level Zero or OpenCL. */
  DLBRIDGE_MEMORY_USM_DEVICE = 6, /**< Device USM. */
  DLBRIDGE_MEMORY_USM_SHARED = 7, /**< Shared USM. */
  DLBRIDGE_MEMORY_SVM = 8,        /**< OpenCL shared virtual memory (under a cl_mem). */
  DLBRIDGE_MEMORY_CL_MEM = 9      /**< An OpenCL buffer object. */
};
/* [/facts] */

/* [facts/enums.toml POINTER] */
/** Bits of DLBridgePointerInfo::properties. \since 0.3.0 */
enum {
  /** The context that knows the memory was neither registered nor named by the caller. On Level Zero
   * any context of a driver may know the memory, so it need not be the one that allocated it. */
  DLBRIDGE_POINTER_CONTEXT_ASSUMED = 1 << 0,
  /** `peers` has the driver's answer: it was asked for, the memory is on a device, and the driver can
   * tell. \since 0.4.0 */
  DLBRIDGE_POINTER_PEERS_KNOWN = 1 << 1
};
/* [/facts] */

/** Where memory is. \since 0.3.0 */
typedef struct DLBridgePointerInfo {
  uint32_t struct_size;    /**< In: sizeof(DLBridgePointerInfo). Out: bytes filled. */
  uint32_t options;        /**< In: DLBRIDGE_POINTER_INFO_*. */
  DLBridgeBackend backend; /**< Which driver knows it; CPU where none does. */
  int32_t memory;          /**< DLBRIDGE_MEMORY_* */
  DLDevice device;         /**< As DLPack labels it; id 0 on host, pinned and managed memory. */
  int32_t native_device;   /**< Index of the driver's device for it, also of pinned and managed memory;
                                -1 where there is none. */
  uint32_t properties;     /**< DLBRIDGE_POINTER_* */
  uint64_t base;           /**< Start of the allocation; for a cl_mem 0; 0 also where unknown. */
  uint64_t size;           /**< Bytes of the allocation; 0: unknown. */
  uint64_t context;        /**< CUcontext, ze_context_handle_t or cl_context; 0 where none is known. */
  uint64_t peers;          /**< Bit i: device i of the backend can access memory of `native_device`,
                                directly or once peer access is enabled; the device itself included, at
                                most 64 devices. Valid with PEERS_KNOWN. \since 0.4.0 */
} DLBridgePointerInfo;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_POINTER_INFO_INIT                                                                 \
  {sizeof(DLBridgePointerInfo), 0, DLBRIDGE_BACKEND_NONE, 0, DLBRIDGE_NO_DEVICE, 0, 0, \
   0, 0, 0, 0}

/** Returns DLBRIDGE_POINTER_INFO_INIT. \since 0.3.0 */
static inline DLBridgePointerInfo dlbridge_pointer_info_init(void) {
  DLBridgePointerInfo value = DLBRIDGE_POINTER_INFO_INIT;
  return value;
}

/* [facts/enums.toml POINTER_INFO] */
/** Bits of DLBridgePointerInfo::options. \since 0.4.0 */
enum {
  DLBRIDGE_POINTER_INFO_PEERS = 1 << 8  /**< Ask the driver for `peers`, by one call per device. */
};
/* [/facts] */

/** Asks the driver where `buffer` lies; it may point inside an allocation. `device` is its label; kDLCPU
 * and {0, 0} assume nothing. Asks the backend of `buffer->backend` or of `device`, and starts it if
 * needed. Without either it asks the backends that are already started: classifying a host pointer
 * starts no driver. Memory that no backend knows is HOST; that is an answer, not an error. Of virtual
 * memory, `base` and `size` are those of the mapped piece. Errors: INVALID_ARGUMENT, also for virtual
 * memory that is reserved but not mapped; UNSUPPORTED for device types without a backend.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_pointer_info(const DLBridgeBuffer* buffer, DLDevice device,
                                                  DLBridgePointerInfo* out, DLBridgeError* error);

/* [facts/enums.toml WRAP] */
/** Bits of DLBridgeWrapSpec::options. \since 0.3.0 */
enum {
  /** Skip validation: the caller knows that the layout is valid. Of the layout only ndim and a NULL
   * shape are checked, and an empty tensor is not changed. `policy` must be NULL and LIMIT_BUFFER not
   * set. */
  DLBRIDGE_WRAP_SKIP_VALIDATION = 1 << 8,
  /** Keep the module of `release` loaded, as dlbridge_module_pin does. */
  DLBRIDGE_WRAP_PIN_PRODUCER = 1 << 9,
  /** CL_MEM: the tensor holds its own reference to the cl_mem (clRetainMemObject), which also keeps its
   * context. */
  DLBRIDGE_WRAP_RETAIN = 1 << 10,
  /** `buffer_size` is read. */
  DLBRIDGE_WRAP_LIMIT_BUFFER = 1 << 11,
  /** `release` orders the end of the memory after the work of the stream that it receives, for instance
   * by freeing it on that stream: dlbridge_release_after may call it before that work is over. \since
   * 0.4.0 */
  DLBRIDGE_WRAP_RELEASE_ON_STREAM = 1 << 12
};
/* [/facts] */

/** Native memory to make a tensor of. The arrays are borrowed for the call. \since 0.3.0 */
typedef struct DLBridgeWrapSpec {
  uint32_t struct_size;         /**< sizeof(DLBridgeWrapSpec) */
  uint32_t options;             /**< DLBRIDGE_WRAP_* */
  const int64_t* shape;         /**< `ndim` extents; NULL where ndim is 0. */
  const int64_t* strides;       /**< `ndim` strides in elements; NULL: compact, last axis fastest. */
  DLBridgeBuffer buffer;        /**< The memory. Backend: NONE, or the one of `device`. */
  uint64_t byte_offset;         /**< Bytes from the handle to element (0,...,0); written to the tensor,
                                     never added to `data`. */
  uint64_t buffer_size;         /**< Bytes at the handle that all elements must lie inside. Read with
                                     LIMIT_BUFFER; must be 0 without it. */
  DLDevice device;              /**< The label; must be set. The id of host-like memory is written as
                                     0. */
  int32_t ndim;                 /**< Number of axes; 0: a scalar. */
  DLDataType dtype;             /**< Dtype of the elements; must be set. */
  uint64_t tensor_flags;        /**< DLPack flags of the tensor. */
  DLPackVersion version;        /**< Newest DLPack that the consumer reads; {0, 0}: the default. */
  /** Called once when the last owner is gone, on that thread; NULL: nothing to call. Work on `stream`
   * may still use the memory; NULL: none does, as always without RELEASE_ON_STREAM. `buffer` is the one
   * given here; both are valid for the call only. */
  void (*release)(void* context, const DLBridgeBuffer* buffer, const struct DLBridgeStream* stream);
  void* release_context;        /**< Passed to `release`; may be NULL. */
  const DLBridgePolicy* policy; /**< Validate by it; NULL: the default policy. */
} DLBridgeWrapSpec;

/** Static initialiser; device, dtype and buffer must be set. \since 0.3.0 */
#define DLBRIDGE_WRAP_SPEC_INIT                                                                   \
  {sizeof(DLBridgeWrapSpec), 0, NULL, NULL, {DLBRIDGE_BACKEND_NONE, 0, 0, 0, 0}, 0, 0, \
   DLBRIDGE_NO_DEVICE, 0, {0, 0, 0}, 0, {0, 0}, NULL, NULL, NULL}

/** Returns DLBRIDGE_WRAP_SPEC_INIT. \since 0.3.0 */
static inline DLBridgeWrapSpec dlbridge_wrap_spec_init(void) {
  DLBridgeWrapSpec value = DLBRIDGE_WRAP_SPEC_INIT;
  return value;
}

/** Makes a dlbridge-owned tensor from native memory. An empty one gets NULL data and compact strides.
 * If `buffer.context` is given, the context table must have it for that device, so that a consumer can
 * find it; the tensor retains that entry. A CL_MEM needs no entry: its driver confirms the context, and
 * the tensor keeps a reference to the cl_mem as with RETAIN. A CL_MEM of another context is rejected, as
 * is one that kernels must not write to for a tensor without READ_ONLY. No driver is called unless a
 * context is given, RETAIN is asked for, or the policy's level is DEVICE.
 * Success: the memory belongs to the tensor until `release` runs. Failure: everything is the caller's
 * and `release` has not been called. Any tensor error; UNKNOWN_CODE; NOT_FOUND (context);
 * OUT_OF_MEMORY. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_wrap(const DLBridgeWrapSpec* spec,
                                          DLManagedTensorVersioned** out, DLBridgeError* error);

/** As dlbridge_wrap, but makes a legacy tensor; `version` must be {0, 0}. Flags and codes that legacy
 * cannot record are rejected (rules LEGACY_*), except IS_COPIED, which is dropped. Upgrading the result
 * restores all flags. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_wrap_legacy(const DLBridgeWrapSpec* spec, DLManagedTensor** out,
                                                 DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Streams
 * ------------------------------------------------------------------------------------------- */

/* [facts/enums.toml STREAM] */
/** Values of DLBridgeStream::kind; 0 means "not set". \since 0.3.0 */
enum {
  /** No queue: the work of a call is complete when it returns. */
  DLBRIDGE_STREAM_HOST = 1,
  /** The consumer orders its work itself. */
  DLBRIDGE_STREAM_NO_SYNC = 2,
  /** CUstream (1 and 2 are CUDA's special streams, 0 is rejected), hipStream_t (0: the default stream,
   * 2: that of the calling thread, 1 from HIP 6.4: the legacy one), cl_command_queue,
   * ze_command_queue_handle_t. */
  DLBRIDGE_STREAM_QUEUE = 3,
  /** Level Zero: an immediate ze_command_list_handle_t. */
  DLBRIDGE_STREAM_IMMEDIATE_LIST = 4
};
/* [/facts] */

/** A queue of work, borrowed; 40 bytes for ever. \since 0.3.0 */
typedef struct DLBridgeStream {
  DLBridgeBackend backend; /**< Whose queue. */
  int32_t kind;            /**< DLBRIDGE_STREAM_* */
  DLDevice device;         /**< Device that it runs on; needed for CUDA's special streams and HIP. A
                                label that the driver contradicts is rejected. */
  uint64_t handle;         /**< The queue. */
  uint64_t context;        /**< Level Zero: the ze_context_handle_t of the queue. OpenCL: 0, or the
                                cl_context of the queue. Else 0. */
  uint64_t reserved;       /**< 0 */
} DLBridgeStream;

/** Static initialiser: nothing is set. \since 0.3.0 */
#define DLBRIDGE_STREAM_INIT {DLBRIDGE_BACKEND_NONE, 0, DLBRIDGE_NO_DEVICE, 0, 0, 0}

/** Returns DLBRIDGE_STREAM_INIT. \since 0.3.0 */
static inline DLBridgeStream dlbridge_stream_init(void) {
  DLBridgeStream value = DLBRIDGE_STREAM_INIT;
  return value;
}

/** `None` among the array API's integers. \since 0.3.0 */
#define DLBRIDGE_ARRAY_API_STREAM_NONE INT64_MIN

/** Turns the `stream` of the Python array API's __dlpack__ into a stream, to the letter. CUDA: None and
 * 1 the legacy default stream, 2 the per-thread one, above 2 a CUstream, -1 NO_SYNC; 0 and less than -1
 * are errors. ROCm: None and 0 the default stream, above 2 a hipStream_t, -1 NO_SYNC; 1 and 2 are
 * errors. CPU: None is HOST, all else an error. Other devices: None is HOST, -1 NO_SYNC, other integers
 * mean nothing there: UNSUPPORTED. No driver is called. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_from_array_api(DLDevice device, int64_t stream,
                                                           DLBridgeStream* out, DLBridgeError* error);

/* [facts/enums.toml HANDOFF] */
/** Bits of the `options` of dlbridge_stream_handoff. \since 0.3.0 */
enum {
  /** Allow the host to wait if no driver can order the two queues: queues of two backends, or of two
   * Level Zero contexts. */
  DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT = 1 << 8,
  /** Allow a wait that adds the consumer's stream to the graph that the producer's stream is capturing.
   * The caller must join the streams again. */
  DLBRIDGE_HANDOFF_ALLOW_CAPTURE = 1 << 9
};
/* [/facts] */

/** Orders all work enqueued on `producer` so far before all work enqueued on `consumer` from now on; the
 * host does not wait. If both are one queue, which may run its work out of order, its later work waits
 * for its earlier work. Does nothing if the producer is HOST or NO_SYNC, or the consumer is NO_SYNC.
 * For a consumer HOST it is dlbridge_stream_synchronize(producer). docs/streams.md lists the driver's
 * calls. Errors: CAPTURE, UNSUPPORTED (see the options), INVALID_ARGUMENT. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_handoff(const DLBridgeStream* producer,
                                                    const DLBridgeStream* consumer, uint32_t options,
                                                    DLBridgeError* error);

/** Blocks the host until all work enqueued on `stream` is done. HOST: nothing to wait for.
 * NO_SYNC is an invalid argument. Errors: CAPTURE. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_synchronize(const DLBridgeStream* stream,
                                                        DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * The context table: DLDevice <-> native device, context, default queue
 *
 * One table per process, also where several shared copies of this library, or others that implement
 * docs/context-table.md, are loaded. A static copy exports no table: it uses one only where a loaded
 * module exports it, and keeps that module loaded. Look-ups take no lock.
 * ------------------------------------------------------------------------------------------- */

/* [facts/enums.toml CONTEXT] */
/** Bits of DLBridgeContextEntry::properties. \since 0.3.0 */
enum {
  /** In: the entry becomes the default of its device. The first entry of a device always is. */
  DLBRIDGE_CONTEXT_DEFAULT = 1 << 0,
  /** In: removes entries of the same device with another native device. */
  DLBRIDGE_CONTEXT_REPLACE = 1 << 1,
  /** A library found the device itself. A registration by an application takes precedence. */
  DLBRIDGE_CONTEXT_ENUMERATED = 1 << 2,
  /** The context was made for the table: no other library uses it unless it asks the table. */
  DLBRIDGE_CONTEXT_PRIVATE = 1 << 3
};
/* [/facts] */

/** One context of one device; 128 bytes for ever. \since 0.3.0 */
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
  uint32_t properties;     /**< DLBRIDGE_CONTEXT_* */
  uint8_t uuid[16];        /**< Of the device; zero where unknown. */
  /** Called once when the entry is unregistered and no tensor keeps it, on the thread that ended it,
   * outside all locks; NULL: the handles are borrowed and must outlive their use. */
  void (*release)(void* release_context, const struct DLBridgeContextEntry* entry);
  void* release_context;   /**< Passed to `release`. */
  uint64_t reserved[4];    /**< 0 */
} DLBridgeContextEntry;

/** Static initialiser; backend, device and handles must be set. \since 0.3.0 */
#define DLBRIDGE_CONTEXT_ENTRY_INIT                                                                 \
  {sizeof(DLBridgeContextEntry), DLBRIDGE_BACKEND_NONE, DLBRIDGE_NO_DEVICE, 0, 0, 0, 0, \
   0, 0, 0, {0}, NULL, NULL, {0, 0, 0, 0}}

/** Returns DLBRIDGE_CONTEXT_ENTRY_INIT. \since 0.3.0 */
static inline DLBridgeContextEntry dlbridge_context_entry_init(void) {
  DLBridgeContextEntry value = DLBRIDGE_CONTEXT_ENTRY_INIT;
  return value;
}

/** Adds `entry`. A device may have several contexts, of one native device. Success: `*id` names the
 * entry, and `release` will run once. Failure: nothing is kept and `release` is not called. An
 * application's registration replaces entries of that device that a library ENUMERATED. Errors: EXISTS
 * where another registration has the same device and context, or the device with another native device
 * and REPLACE is not asked for; INVALID_ARGUMENT; TOO_NEW. No driver is called. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_context_register(const DLBridgeContextEntry* entry, uint64_t* id,
                                                      DLBridgeError* error);

/** Finds the entry of `device` with `context`, or the default entry if `context` is 0. If the table has
 * no entry for the device, its backend is started and its devices are added: Level Zero with
 * zeDriverGetDefaultContext where the driver has it, else a PRIVATE context per driver; OpenCL a PRIVATE
 * context per platform; CUDA and HIP with none. Pinned and managed memory share the entry of kDLCUDA or
 * kDLROCM. `*out` is a copy, whose handles live as long as the entry: keep that with
 * dlbridge_context_retain. Errors: NOT_FOUND, UNSUPPORTED for device types without a backend.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_context_find(DLDevice device, uint64_t context,
                                                  DLBridgeContextEntry* out, DLBridgeError* error);

/** Copies the entry that follows `*cursor` (0: the first) and moves the cursor to it. Entries that are
 * added or removed meanwhile may be met or not; no entry is met twice. It adds no entries itself.
 * Errors: NOT_FOUND after the last. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_context_next(uint64_t* cursor, DLBridgeContextEntry* out,
                                                  DLBridgeError* error);

/** Keeps entry `id` from being released. Errors: NOT_FOUND where it is no longer registered.
 * \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_context_retain(uint64_t id, DLBridgeError* error);

/** Ends one dlbridge_context_retain; the last, of an entry that was unregistered, runs its `release`.
 * Errors: NOT_FOUND where the entry is not retained. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_context_release(uint64_t id, DLBridgeError* error);

/** Removes entry `id` from look-ups at once. Its `release` runs when nothing retains it any more,
 * possibly during this call. Allocates no memory. Errors: NOT_FOUND. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_context_unregister(uint64_t id, DLBridgeError* error);

/** The table as other copies and libraries use it; docs/context-table.md is its specification. Every
 * function returns a DLBridgeStatus of this header and may be called from any thread. \since 0.3.0 */
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
 * module that exports this symbol, as the functions above do. \since 0.3.0 */
DLBRIDGE_API const DLBridgeContextTable* dlbridge_context_table_v1(void);

/* ---------------------------------------------------------------------------------------------
 * Copy
 * ------------------------------------------------------------------------------------------- */

/* [facts/enums.toml COPY] */
/** Bits of DLBridgeCopySpec::options. \since 0.3.0 */
enum {
  /** Allow a copy through host memory for layouts that need more than 4096 driver copies, and between
   * two backends. */
  DLBRIDGE_COPY_ALLOW_STAGING = 1 << 8,
  /** Copy into memory that dlbridge_ipc_export can share. Only on the host, without target or
   * allocator. */
  DLBRIDGE_COPY_SHAREABLE = 1 << 9
};
/* [/facts] */

/** Destination and ordering of a copy. All zero: to new host memory. \since 0.3.0 */
typedef struct DLBridgeCopySpec {
  uint32_t struct_size;               /**< sizeof(DLBridgeCopySpec) */
  uint32_t options;                   /**< DLBRIDGE_COPY_* */
  DLDevice device;                    /**< Device of the copy; {0, 0}: the CPU. */
  DLBridgeStream stream;              /**< Queue that orders the copy after earlier work on it; kind 0:
                                           all work on the source is done, and the library chooses the
                                           driver's queue. */
  DLBridgeBuffer target;              /**< Memory of the caller's, apart from all bytes between the
                                           first and the last of the source; all zero: allocate. */
  uint64_t target_offset;             /**< Bytes from the handle to the copy. */
  uint64_t target_size;               /**< Bytes at the handle; 0 without a target. */
  /** As in DLBridgeWrapSpec, for memory of the caller's; may be NULL. */
  void (*release)(void* context, const DLBridgeBuffer* target, const struct DLBridgeStream* stream);
  void* release_context;              /**< Passed to `release`. */
  const DLBridgeAllocator* allocator; /**< Memory of `device`; NULL: the system's, on the host. */
  uint64_t tensor_flags;              /**< DLPack flags of the copy; IS_COPIED is added, and READ_ONLY
                                           where the target is an OpenCL buffer that kernels may only
                                           read. */
  DLPackVersion version;              /**< Newest DLPack that the consumer reads; {0, 0}: the default. */
  const DLBridgePolicy* policy;       /**< Validate the source by it; NULL: the default policy. */
} DLBridgeCopySpec;

/** Static initialiser: to new memory of the host. \since 0.3.0 */
#define DLBRIDGE_COPY_SPEC_INIT                                                                    \
  {sizeof(DLBridgeCopySpec), 0, DLBRIDGE_NO_DEVICE, DLBRIDGE_STREAM_INIT, DLBRIDGE_BUFFER_INIT, 0, \
   0, NULL, NULL, NULL, 0, {0, 0}, NULL}

/** Returns DLBRIDGE_COPY_SPEC_INIT. \since 0.3.0 */
static inline DLBridgeCopySpec dlbridge_copy_spec_init(void) {
  DLBridgeCopySpec value = DLBRIDGE_COPY_SPEC_INIT;
  return value;
}

/** Copies `source` (any strides; `tensor_flags` as in its versioned struct) to compact memory, last axis
 * fastest. The source is only read and stays the caller's; the call returns when the copy is whole.
 * Host to host: any layout and dtype; sub-byte elements become packed, or padded if
 * `spec->tensor_flags` has the padded flag. Host and device, or within one backend: by contiguous runs
 * and rectangular copies. A layout that needs more than 4096 of these, and a copy between two backends,
 * go through host memory if ALLOW_STAGING is set. Pinned and managed memory counts as the host's.
 * Success: `*out` is the caller's. Failure: no output, `release` not called, memory of the allocator
 * given back; the target's bytes are unspecified, and after DRIVER, if waiting failed too, the
 * driver may still be working on both. Any tensor error; UNKNOWN_CODE (also for a flag bit of the
 * source that no release knows); UNSUPPORTED (no allocator, staging not allowed); BUFFER_TOO_SMALL;
 * OUT_OF_MEMORY; CAPTURE. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_copy(const DLTensor* source, uint64_t tensor_flags,
                                          const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                                          DLBridgeError* error);

/** As dlbridge_copy of a dlbridge-owned tensor, but returns as soon as the copy is enqueued on
 * `spec->stream`, a queue of the one driver that copies (HOST: the copy is complete on return). The
 * library holds source and copy until the queue has done the work: the caller may release both at once,
 * and dlbridge_collect frees what is held. `*out` may be used by later work on that queue; other queues
 * need dlbridge_stream_handoff, and the host dlbridge_stream_synchronize. Host memory on either side
 * must not be written, and that of the copy not be read, before the queue has done the work. The
 * allocator receives the stream. Success and failure as for dlbridge_copy; a failure has waited for the
 * work that was enqueued. Errors: those of dlbridge_copy and dlbridge_share; UNSUPPORTED where the copy
 * needs host memory in between or both sides are on the host; CAPTURE where the stream is capturing a
 * graph; INVALID_ARGUMENT for ALLOW_STAGING and streams of kind NO_SYNC. \since 0.4.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_copy_async(const DLManagedTensorVersioned* source,
                                                const DLBridgeCopySpec* spec,
                                                DLManagedTensorVersioned** out, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Release after the work of streams
 *
 * A consumer that has enqueued work on a tensor may release it before that work has run:
 *
 *     dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &stream, 1, &error);
 *
 * No deleter runs on a thread of a driver, where it could not call the driver. Deleters of tensors that
 * the library holds run in dlbridge_copy_async, dlbridge_release_after and dlbridge_collect, in no other
 * function, on the calling thread and outside all locks. At the end of the process, and in a forked
 * child, the tensors that are still held are never released.
 * ------------------------------------------------------------------------------------------- */

/** Releases `tensor`, a managed tensor of any maker (`kind` LEGACY or VERSIONED), when the work enqueued
 * so far on each of the `count` streams is over; the host does not wait. Streams of kind HOST have no
 * work: with these alone the tensor is released at once. So is the last owner of a tensor of
 * dlbridge_wrap with RELEASE_ON_STREAM, if one queue of its own backend is given and it keeps no context
 * of the table and no handle: its callback receives the queue. Else the library holds the tensor; this
 * call also releases up to 8 tensors held before, whose work is over. Work that a fault of the device
 * has ended is over. Success: the tensor belongs to the library. Failure: the tensor is the caller's and
 * nothing is held; after a fault of the device, release it by dlbridge_release. Errors: INVALID_ARGUMENT
 * (also for count 0 and kind NO_SYNC), CAPTURE where a stream is capturing a graph, OUT_OF_MEMORY.
 * \since 0.4.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_release_after(void* tensor, DLBridgeKind kind,
                                                   const DLBridgeStream* streams, size_t count,
                                                   DLBridgeError* error);

/* [facts/enums.toml COLLECT] */
/** Bits of the `options` of dlbridge_collect. \since 0.4.0 */
enum {
  DLBRIDGE_COLLECT_WAIT = 1 << 8  /**< First wait for the work of all tensors that are held now. */
};
/* [/facts] */

/** Releases the tensors that the library holds whose work is over. `options` 0 does not wait for work.
 * `*left`, unless NULL, receives the number of tensors and copies that are still held or being released
 * by any thread, also on failure. Call it where a tensor's memory is needed again, or now and then.
 * Called by a deleter that one of these functions runs, it releases nothing: the outer call goes on with
 * what is held. Errors: DRIVER where a driver cannot tell whether work is over, CAPTURE where a stream
 * began a capture meanwhile (HIP); that tensor stays held, and the others have been released.
 * \since 0.4.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_collect(uint32_t options, size_t* left, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Between processes of one host
 * ------------------------------------------------------------------------------------------- */

/* [facts/enums.toml IPC] */
/** Bits of DLBridgeIpcExportSpec::options and DLBridgeIpcImportSpec::options. \since 0.3.0 */
enum {
  /** Export: the importer gets no right to write, and on the host a process of another user cannot gain
   * it. Import: do not ask for that right. A READ_ONLY tensor is always exported this way. */
  DLBRIDGE_IPC_READ_ONLY = 1 << 8
};
/* [/facts] */

/** Output of an export. All zero: ask for the sizes. \since 0.3.0 */
typedef struct DLBridgeIpcExportSpec {
  uint32_t struct_size; /**< sizeof(DLBridgeIpcExportSpec) */
  uint32_t options;     /**< DLBRIDGE_IPC_* */
  void* buffer;         /**< Receives the descriptor; NULL where `buffer_size` is 0. */
  size_t buffer_size;   /**< Bytes at `buffer`. */
  int32_t* fds;         /**< Receives file descriptors; NULL where `fd_capacity` is 0. */
  size_t fd_capacity;   /**< Entries of `fds`. */
  /** Queue whose work enqueued so far the importer will wait for; NULL or of kind HOST: the work on the
   * tensor is finished. \since 0.4.0 */
  const DLBridgeStream* stream;
} DLBridgeIpcExportSpec;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_IPC_EXPORT_SPEC_INIT {sizeof(DLBridgeIpcExportSpec), 0, NULL, 0, NULL, 0, NULL}

/** Returns DLBRIDGE_IPC_EXPORT_SPEC_INIT. \since 0.3.0 */
static inline DLBridgeIpcExportSpec dlbridge_ipc_export_spec_init(void) {
  DLBridgeIpcExportSpec value = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  return value;
}

/** Sizes that an export needs. \since 0.3.0 */
typedef struct DLBridgeIpcSizes {
  uint32_t struct_size; /**< In: sizeof(DLBridgeIpcSizes). Out: bytes filled. */
  uint32_t options;     /**< In: 0. */
  uint64_t buffer_size; /**< Bytes of the descriptor. */
  uint64_t fd_count;    /**< Number of file descriptors. */
} DLBridgeIpcSizes;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_IPC_SIZES_INIT {sizeof(DLBridgeIpcSizes), 0, 0, 0}

/** Returns DLBRIDGE_IPC_SIZES_INIT. \since 0.3.0 */
static inline DLBridgeIpcSizes dlbridge_ipc_sizes_init(void) {
  DLBridgeIpcSizes value = DLBRIDGE_IPC_SIZES_INIT;
  return value;
}

/** Describes `tensor` for another process: a descriptor in `spec->buffer` and file descriptors in
 * `spec->fds`. The file descriptors belong to the caller, who sends them in this order (SCM_RIGHTS) and
 * then closes its own. `*sizes` has both sizes, also on BUFFER_TOO_SMALL, which writes nothing else.
 * The host's memory must be SHAREABLE (dlbridge_allocate, dlbridge_copy) and lives until the last
 * process releases it; a device's memory stays the exporter's, which keeps the tensor until the
 * importer is done. Work on the tensor must be finished, unless `spec->stream` names its queue. The
 * tensor stays the caller's. IS_COPIED is not carried. A device's handle may open the whole allocation
 * that the tensor lies in: docs/ipc.md. Errors: any tensor error; UNSUPPORTED with the remedy; CAPTURE;
 * BUFFER_TOO_SMALL. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_ipc_export(const DLManagedTensorVersioned* tensor,
                                                const DLBridgeIpcExportSpec* spec,
                                                DLBridgeIpcSizes* sizes, DLBridgeError* error);

/** Input of an import: what another process sent. \since 0.3.0 */
typedef struct DLBridgeIpcImportSpec {
  uint32_t struct_size;         /**< sizeof(DLBridgeIpcImportSpec) */
  uint32_t options;             /**< DLBRIDGE_IPC_* */
  const void* buffer;           /**< The descriptor; must be set. */
  size_t buffer_size;           /**< Its bytes. */
  const int32_t* fds;           /**< The file descriptors; NULL where `fd_count` is 0. */
  size_t fd_count;              /**< Their number. */
  const DLBridgePolicy* policy; /**< Validate by it; NULL: the default policy. */
  /** Queue that waits for the exporter's work, if the export named a stream; NULL or of kind HOST: the
   * call waits. \since 0.4.0 */
  const DLBridgeStream* stream;
} DLBridgeIpcImportSpec;

/** Static initialiser; `buffer` must be set. \since 0.3.0 */
#define DLBRIDGE_IPC_IMPORT_SPEC_INIT \
  {sizeof(DLBridgeIpcImportSpec), 0, NULL, 0, NULL, 0, NULL, NULL}

/** Returns DLBRIDGE_IPC_IMPORT_SPEC_INIT. \since 0.3.0 */
static inline DLBridgeIpcImportSpec dlbridge_ipc_import_spec_init(void) {
  DLBridgeIpcImportSpec value = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  return value;
}

/** Makes a dlbridge-owned tensor from another process's export; descriptor and file descriptors stay the
 * caller's in every case. The tensor is validated like any foreign one. Host memory must be sealed and
 * must have pages for every byte described, so that no peer can make a reader fault. Errors: DESCRIPTOR
 * if the descriptor is truncated, altered, of a newer version, or does not match the file descriptors;
 * any tensor error; UNAVAILABLE; CAPTURE; DRIVER where the exporter is gone. \since 0.3.0 */
DLBRIDGE_API DLBridgeStatus dlbridge_ipc_import(const DLBridgeIpcImportSpec* spec,
                                                DLManagedTensorVersioned** out, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Function table, for clients that dlopen
 * ------------------------------------------------------------------------------------------- */

/** All functions in one table. It grows at the end only. \since 0.3.0 */
typedef struct DLBridgeApi {
  uint32_t struct_size; /**< Of the library's table: ask DLBRIDGE_API_HAS before a call. */
  uint32_t abi;         /**< DLBRIDGE_ABI of the library. */
  /* [facts/functions.toml] */
  uint32_t (*version)(void);
  const char* (*version_string)(void);
  DLPackVersion (*dlpack_version)(void);
  const char* (*status_name)(DLBridgeStatus status);
  const char* (*status_text)(DLBridgeStatus status);
  const char* (*rule_name)(DLBridgeRule rule);
  const char* (*rule_text)(DLBridgeRule rule);
  DLBridgeStatus (*layout)(const DLTensor* tensor, uint64_t tensor_flags, DLBridgeLayout* out,
                           DLBridgeError* error);
  DLBridgeStatus (*dtype_format)(DLDataType dtype, char* buffer, size_t size, size_t* length,
                                 DLBridgeError* error);
  DLBridgeStatus (*dtype_parse)(const char* text, size_t length, DLDataType* out,
                                DLBridgeError* error);
  DLBridgeStatus (*device_format)(DLDevice device, char* buffer, size_t size, size_t* length,
                                  DLBridgeError* error);
  DLBridgeStatus (*device_parse)(const char* text, size_t length, DLDevice* out,
                                 DLBridgeError* error);
  DLBridgeStatus (*tensor_format)(const DLTensor* tensor, uint64_t tensor_flags, char* buffer,
                                  size_t size, size_t* length, DLBridgeError* error);
  int32_t (*host_accessible)(int32_t device_type, DLBridgeAnswer* answer);
  DLBridgeStatus (*import_tensor)(void* tensor, DLBridgeKind kind,
                                  const DLBridgeConvertOptions* options,
                                  DLManagedTensorVersioned** out, DLBridgeError* error);
  DLBridgeStatus (*export_tensor)(void* tensor, DLBridgeKind kind, DLPackVersion target,
                                  const DLBridgeConvertOptions* options, void** out,
                                  DLBridgeKind* out_kind, DLBridgeError* error);
  DLBridgeStatus (*release)(void* tensor, DLBridgeKind kind);
  void (*release_legacy)(DLManagedTensor* tensor);
  void (*release_versioned)(DLManagedTensorVersioned* tensor);
  DLBridgeStatus (*validate)(const DLTensor* tensor, uint64_t tensor_flags,
                             const DLBridgePolicy* policy, DLBridgeError* error);
  DLBridgeStatus (*validate_legacy)(const DLManagedTensor* tensor, const DLBridgePolicy* policy,
                                    DLBridgeError* error);
  DLBridgeStatus (*validate_versioned)(const DLManagedTensorVersioned* tensor,
                                       const DLBridgePolicy* policy, DLBridgeError* error);
  DLBridgeStatus (*diagnose)(const void* tensor, DLBridgeKind kind, uint64_t tensor_flags,
                             const DLBridgePolicy* policy, DLBridgeFinding* findings,
                             size_t capacity, size_t* count, DLBridgeError* error);
  DLBridgeStatus (*upgrade)(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                            DLManagedTensorVersioned** out, DLBridgeError* error);
  size_t (*upgrade_storage_size)(int32_t ndim);
  DLBridgeStatus (*upgrade_into)(DLManagedTensor* source, const DLBridgeConvertOptions* options,
                                 const DLBridgeStorage* storage, DLManagedTensorVersioned** out,
                                 DLBridgeError* error);
  DLBridgeStatus (*upgrade_many)(DLManagedTensor* const* sources, size_t count,
                                 const DLBridgeConvertOptions* options,
                                 DLManagedTensorVersioned** outs, size_t* failed,
                                 DLBridgeError* error);
  DLBridgeStatus (*downgrade)(DLManagedTensorVersioned* source,
                              const DLBridgeConvertOptions* options, DLManagedTensor** out,
                              DLBridgeError* error);
  DLBridgeStatus (*share)(const DLManagedTensorVersioned* tensor, DLManagedTensorVersioned** out,
                          DLBridgeError* error);
  DLBridgeStatus (*view)(const DLManagedTensorVersioned* tensor, const DLBridgeViewSpec* spec,
                         DLManagedTensorVersioned** out, DLBridgeError* error);
  DLBridgeStatus (*allocate)(const DLBridgeAllocateSpec* spec, DLManagedTensorVersioned** out,
                             DLBridgeError* error);
  DLBridgeStatus (*required_version)(const DLTensor* tensor, uint64_t tensor_flags,
                                     DLPackVersion* out, DLBridgeError* error);
  DLBridgeStatus (*negotiate)(DLPackVersion producer, DLPackVersion consumer, DLBridgeKind* kind,
                              DLPackVersion* version, DLBridgeError* error);
  DLBridgeStatus (*exchange_api_find)(const DLPackExchangeAPIHeader* chain, DLPackVersion consumer,
                                      const DLPackExchangeAPI** out, DLBridgeError* error);
  DLBridgeKind (*identify)(const void* tensor);
  DLBridgeStatus (*module_pin)(const void* address, DLBridgeError* error);
  DLBridgeStatus (*backend_info)(DLBridgeBackend backend, DLBridgeBackendInfo* out,
                                 DLBridgeError* error);
  DLBridgeStatus (*pointer_info)(const DLBridgeBuffer* buffer, DLDevice device,
                                 DLBridgePointerInfo* out, DLBridgeError* error);
  DLBridgeStatus (*wrap)(const DLBridgeWrapSpec* spec, DLManagedTensorVersioned** out,
                         DLBridgeError* error);
  DLBridgeStatus (*wrap_legacy)(const DLBridgeWrapSpec* spec, DLManagedTensor** out,
                                DLBridgeError* error);
  DLBridgeStatus (*stream_from_array_api)(DLDevice device, int64_t stream, DLBridgeStream* out,
                                          DLBridgeError* error);
  DLBridgeStatus (*stream_handoff)(const DLBridgeStream* producer, const DLBridgeStream* consumer,
                                   uint32_t options, DLBridgeError* error);
  DLBridgeStatus (*stream_synchronize)(const DLBridgeStream* stream, DLBridgeError* error);
  DLBridgeStatus (*context_register)(const DLBridgeContextEntry* entry, uint64_t* id,
                                     DLBridgeError* error);
  DLBridgeStatus (*context_find)(DLDevice device, uint64_t context, DLBridgeContextEntry* out,
                                 DLBridgeError* error);
  DLBridgeStatus (*context_next)(uint64_t* cursor, DLBridgeContextEntry* out, DLBridgeError* error);
  DLBridgeStatus (*context_retain)(uint64_t id, DLBridgeError* error);
  DLBridgeStatus (*context_release)(uint64_t id, DLBridgeError* error);
  DLBridgeStatus (*context_unregister)(uint64_t id, DLBridgeError* error);
  const DLBridgeContextTable* (*context_table_v1)(void);
  DLBridgeStatus (*copy)(const DLTensor* source, uint64_t tensor_flags,
                         const DLBridgeCopySpec* spec, DLManagedTensorVersioned** out,
                         DLBridgeError* error);
  DLBridgeStatus (*ipc_export)(const DLManagedTensorVersioned* tensor,
                               const DLBridgeIpcExportSpec* spec, DLBridgeIpcSizes* sizes,
                               DLBridgeError* error);
  DLBridgeStatus (*ipc_import)(const DLBridgeIpcImportSpec* spec, DLManagedTensorVersioned** out,
                               DLBridgeError* error);
  DLBridgeStatus (*copy_async)(const DLManagedTensorVersioned* source, const DLBridgeCopySpec* spec,
                               DLManagedTensorVersioned** out, DLBridgeError* error);
  DLBridgeStatus (*release_after)(void* tensor, DLBridgeKind kind, const DLBridgeStream* streams,
                                  size_t count, DLBridgeError* error);
  DLBridgeStatus (*collect)(uint32_t options, size_t* left, DLBridgeError* error);
  /* [/facts] */
} DLBridgeApi;

/** True if the table has `function`, a member's name. \since 0.3.0 */
#define DLBRIDGE_API_HAS(api, function)                                               \
  ((api)->struct_size >= offsetof(DLBridgeApi, function) + sizeof((api)->function) && \
   (api)->function != NULL)

/** The library's table, static; NULL where the library's ABI is not `abi` (pass DLBRIDGE_ABI) or
 * where `struct_size` (pass sizeof(DLBridgeApi)) is smaller than the first version of the table. A
 * client that is newer than the library gets the library's shorter table. \since 0.3.0 */
DLBRIDGE_API const DLBridgeApi* dlbridge_get_api(uint32_t abi, size_t struct_size);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_DLBRIDGE_H_ */
