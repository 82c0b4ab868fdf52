/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * How to import: options and their checks. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_OPTIONS_H_
#define DLBRIDGE_CPYTHON_OPTIONS_H_

#include "dlbridge/cpython/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bits of DLBridgePyImportOptions::options. \since 0.3.0 */
enum {
  /** The caller states that a legacy or borrowed tensor is writable. Without it, such a tensor is
   * READ_ONLY. */
  DLBRIDGE_PY_VOUCH_WRITABLE = 1 << 8,
  /** Skip validation: the caller knows that the tensor is valid. `policy` must be NULL. */
  DLBRIDGE_PY_SKIP_VALIDATION = 1 << 9,
  /** The result is dlbridge-owned, as that of dlbridge_import: it can be shared and viewed, and its
   * producer can no longer change it. Without it, a versioned tensor is returned unchanged. */
  DLBRIDGE_PY_OWNED = 1 << 10,
  /** A producer that would have to copy rejects the request. Without COPY_NEVER and COPY_ALWAYS the
   * producer decides whether to copy. */
  DLBRIDGE_PY_COPY_NEVER = 1 << 11,
  /** If the producer does not copy, dlbridge does: to `device`, or to the host if it is NULL. */
  DLBRIDGE_PY_COPY_ALWAYS = 1 << 12,
  /** `stream` is set. */
  DLBRIDGE_PY_STREAM = 1 << 13
};

/** How to import. All zero but `struct_size` means the same as a NULL pointer. All pointers are borrowed
 * for the call. \since 0.3.0 */
typedef struct DLBridgePyImportOptions {
  uint32_t struct_size;         /**< sizeof(DLBridgePyImportOptions) */
  uint32_t options;             /**< DLBRIDGE_PY_* */
  const DLDevice* device;       /**< Target device; NULL: the tensor's own. */
  int64_t stream;               /**< The consumer's, as an integer of the Python array API. Read
                                     only with DLBRIDGE_PY_STREAM, else 0: the legacy default. */
  const DLBridgePolicy* policy; /**< Policy for validation; NULL: the default policy, plus rejection of
                                     dtypes, devices and flag bits that no release knows. */
} DLBridgePyImportOptions;

/** Static initialiser. \since 0.3.0 */
#define DLBRIDGE_PY_IMPORT_OPTIONS_INIT {(uint32_t)sizeof(DLBridgePyImportOptions), 0, NULL, 0, NULL}

/** Returns DLBRIDGE_PY_IMPORT_OPTIONS_INIT. \since 0.3.0 */
static inline DLBridgePyImportOptions dlbridge_py_import_options_init(void) {
  DLBridgePyImportOptions value = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  return value;
}

/* Returns 1 if the caller set one of the COPY options. */
static inline int dlbridge_py_says_copy_(const DLBridgePyImportOptions* options) {
  return (options->options & (DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS)) != 0;
}

/* The consumer's stream as an integer of the Python array API. */
static inline int64_t dlbridge_py_stream_(const DLBridgePyImportOptions* options) {
  return (options->options & DLBRIDGE_PY_STREAM) != 0 ? options->stream
                                                      : DLBRIDGE_ARRAY_API_STREAM_NONE;
}

/* The policy for NULL: a code that no release knows is rejected, as in conversions, for every kind of
 * source. */
static inline const DLBridgePolicy* dlbridge_py_policy_(const DLBridgePyImportOptions* options) {
  static const DLBridgePolicy known = {
      (uint32_t)sizeof(DLBridgePolicy),
      DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE |
          DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS,
      {0, 0},
      DLBRIDGE_LEVEL_DEFAULT,
      DLBRIDGE_CONTIGUITY_ANY,
      0,
      0,
      0,
      0,
      NULL,
      0,
      NULL,
      0,
      NULL};
  return options->policy != NULL ? options->policy : &known;
}

/* Returns 1 if the tensor uses nothing newer than DLPack 1.0. */
static inline int dlbridge_py_is_plain_(const DLTensor* tensor, uint64_t tensor_flags) {
  const uint64_t known = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  const int64_t device = (int64_t)tensor->device.device_type;
  return tensor->dtype.code <= kDLBool && (tensor_flags & ~known) == 0 && device >= kDLCPU &&
         device <= kDLCUDAHost;
}

/* The policy to pass: NULL, which is the fastest, if the default policy adds nothing for this tensor. */
static inline const DLBridgePolicy* dlbridge_py_needed_(const DLBridgePyImportOptions* options,
                                                        const DLTensor* tensor,
                                                        uint64_t tensor_flags) {
  return options->policy == NULL && dlbridge_py_is_plain_(tensor, tensor_flags)
             ? NULL
             : dlbridge_py_policy_(options);
}

/* Raises an error about an argument; returns -1. */
static inline int dlbridge_py_reject_argument_(const char* message) {
  return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                             "%s", message);
}

/* The name of the lowest DLPack flag in `bits`. */
static inline const char* dlbridge_py_flag_name_(uint32_t bits) {
  return (bits & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? "DLPACK_FLAG_BITMASK_READ_ONLY"
         : (bits & DLPACK_FLAG_BITMASK_IS_COPIED) != 0
             ? "DLPACK_FLAG_BITMASK_IS_COPIED"
         : (bits & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0
             ? "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"
             : "a bit below 8, reserved for DLPack's flags";
}

/* Rejects a byte past this version's struct. Not inlined: of an object whose size a compiler sees, it
 * would warn about these bytes. */
DLBRIDGE_PY_APART_ int dlbridge_py_check_tail_(const unsigned char* bytes, uint32_t from,
                                               uint32_t to) {
  for (; from < to; ++from) {
    if (bytes[from] != 0) {
      return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_TOO_NEW, DLBRIDGE_RULE_NONE,
                                 "options: byte %u is set, which is a field of a newer version of "
                                 "dlbridge/cpython_api.h",
                                 (unsigned)from);
    }
  }
  return 0;
}

/* Reads `struct_size` first, and no byte past it. */
static inline int dlbridge_py_check_size_(const DLBridgePyImportOptions* options) {
  const uint32_t size = options->struct_size;
  if (size < sizeof *options || size > 4096) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "options.struct_size: expected %u to 4096, found %u; start from "
                               "dlbridge_py_import_options_init",
                               (unsigned)sizeof *options, (unsigned)size);
  }
  return size == sizeof *options ? 0
                                 : dlbridge_py_check_tail_((const unsigned char*)options,
                                                           (uint32_t)sizeof *options, size);
}

static inline int dlbridge_py_check_bits_(uint32_t bits) {
  const uint32_t known = DLBRIDGE_PY_VOUCH_WRITABLE | DLBRIDGE_PY_SKIP_VALIDATION |
                         DLBRIDGE_PY_OWNED | DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS |
                         DLBRIDGE_PY_STREAM;
  if ((bits & 0xffu) != 0) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "options.options: expected DLBRIDGE_PY_* bits, found %s (0x%x)",
                               dlbridge_py_flag_name_(bits), (unsigned)bits);
  }
  if ((bits & ~known) != 0) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_TOO_NEW, DLBRIDGE_RULE_NONE,
                               "options.options: found the bits 0x%x, which this version of "
                               "dlbridge/cpython_api.h does not know",
                               (unsigned)(bits & ~known));
  }
  return 0;
}

/* Returns 1 if the policy requires a writable tensor. */
static inline int dlbridge_py_must_write_(const DLBridgePyImportOptions* options) {
  return options->policy != NULL && (options->policy->options & DLBRIDGE_POLICY_REQUIRE_WRITABLE) != 0;
}

static inline int dlbridge_py_check_options_(const DLBridgePyImportOptions* options) {
  const uint32_t both = DLBRIDGE_PY_COPY_NEVER | DLBRIDGE_PY_COPY_ALWAYS;
  if (dlbridge_py_check_size_(options) < 0 || dlbridge_py_check_bits_(options->options) < 0) {
    return -1;
  }
  if ((options->options & both) == both) {
    return dlbridge_py_reject_argument_(
        "options.options: expected at most one of DLBRIDGE_PY_COPY_NEVER and "
        "DLBRIDGE_PY_COPY_ALWAYS, found both");
  }
  if ((options->options & DLBRIDGE_PY_STREAM) == 0 && options->stream != 0) {
    return dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                               "options.stream: expected 0 without DLBRIDGE_PY_STREAM, found %lld",
                               (long long)options->stream);
  }
  if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) != 0 && options->policy != NULL) {
    return dlbridge_py_reject_argument_(
        "options.policy: expected NULL with DLBRIDGE_PY_SKIP_VALIDATION, found a policy");
  }
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_OPTIONS_H_ */
