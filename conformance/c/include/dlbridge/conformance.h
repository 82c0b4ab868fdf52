/*
 * SPDX-License-Identifier: Apache-2.0
 * The DLPack conformance kit for C, C++ and every language that can call C.
 *
 * A project describes itself by callbacks (DLBridgeConformanceProject): make a tensor, consume one, read
 * the values back. The kit calls them with valid tensors, broken tensors and tensors of the future, and
 * reports each check by the name that conformance/checks.toml gives it, as TAP, as JUnit XML and to a
 * callback.
 *
 * START HERE. Fill in a DLBridgeConformanceProject and call dlbridge_conformance_main from main().
 *
 * THREADS. The kit calls the callbacks of a run one after the other, on the thread that called it or on
 * the first thread of a child process. It calls deleters of the project's tensors on any thread.
 *
 * ISOLATION. On POSIX systems each check runs in a child process with a time limit, so that a callback
 * that crashes, hangs or ends the process fails its check only. See DLBridgeConformanceIsolation. A
 * callback must not end other processes, and must not rely on changes of its state by earlier checks.
 *
 * OWNERSHIP. Each callback states who owns what after success and after failure. Pointers that the kit
 * passes to a callback are valid until it returns, unless the callback's comment says otherwise.
 *
 * GROWTH. Structs that may grow begin with `struct_size`; the rules are those of dlbridge.h. A field
 * that is zero has the default of its comment.
 *
 * LINKING. The kit is in the archive libdlbridge_conformance.a, not in libdlbridge.so. It needs
 * libdlbridge, the C library and its threads, and no C++ runtime.
 */
#ifndef DLBRIDGE_CONFORMANCE_H_
#define DLBRIDGE_CONFORMANCE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Answers and features
 * ------------------------------------------------------------------------------------------- */

/** What a callback answers. \since 0.4.0 */
typedef int32_t DLBridgeConformanceAnswer;

/** \since 0.4.0 */
enum {
  /** The callback has done what it was asked for. */
  DLBRIDGE_CONFORMANCE_DONE = 0,
  /** The project rejects the tensor or the request, with a message. */
  DLBRIDGE_CONFORMANCE_REJECTED = 1,
  /** The project lacks a feature that the request needs. At least one of `features` of the request must
   * be in DLBridgeConformanceProject::unsupported, or the dtype must be missing in its dtypes. */
  DLBRIDGE_CONFORMANCE_UNSUPPORTED = 2
};

/** Features, as bits. A check whose feature is declared as unsupported is skipped. \since 0.4.0 */
enum {
  DLBRIDGE_CONFORMANCE_LEGACY = 1 << 0,            /**< DLManagedTensor. */
  DLBRIDGE_CONFORMANCE_VERSIONED = 1 << 1,         /**< DLManagedTensorVersioned. */
  DLBRIDGE_CONFORMANCE_STRIDES = 1 << 2,           /**< Layouts that are not compact. */
  DLBRIDGE_CONFORMANCE_NEGATIVE_STRIDES = 1 << 3,  /**< Negative strides. */
  DLBRIDGE_CONFORMANCE_ZERO_STRIDES = 1 << 4,      /**< Strides of 0. */
  DLBRIDGE_CONFORMANCE_BYTE_OFFSET = 1 << 5,       /**< byte_offset other than 0. */
  DLBRIDGE_CONFORMANCE_SCALAR = 1 << 6,            /**< Tensors of no axes. */
  DLBRIDGE_CONFORMANCE_EMPTY = 1 << 7,             /**< Tensors without elements. */
  DLBRIDGE_CONFORMANCE_READ_ONLY = 1 << 8,         /**< Tensors that must not be written to. */
  DLBRIDGE_CONFORMANCE_COPY = 1 << 9,              /**< A copy on request. */
  DLBRIDGE_CONFORMANCE_SUB_BYTE = 1 << 10,         /**< Packed elements of less than 8 bits. */
  DLBRIDGE_CONFORMANCE_PADDED = 1 << 11,           /**< Such elements, padded to whole bytes. */
  DLBRIDGE_CONFORMANCE_UNALIGNED = 1 << 12,        /**< Elements at odd addresses. */
  DLBRIDGE_CONFORMANCE_SHARING = 1 << 13,          /**< Consumer and producer share memory. */
  DLBRIDGE_CONFORMANCE_NULL_DELETER = 1 << 14,     /**< Tensors without a deleter. */
  DLBRIDGE_CONFORMANCE_EXCHANGE_OBJECTS = 1 << 15  /**< The exchange table takes arrays, see below. */
};

/** Bytes of the buffer for a callback's message, with its NUL. \since 0.4.0 */
#define DLBRIDGE_CONFORMANCE_MESSAGE_SIZE 256

/* ---------------------------------------------------------------------------------------------
 * Queues: a device whose work is always late
 * ------------------------------------------------------------------------------------------- */

/** A queue of work on an emulated device in host memory. Nothing runs before somebody waits for it:
 * dlbridge_conformance_queue_synchronize runs the work of one queue and of the queues that it waits
 * for, in order. Missing order between two queues therefore shows as wrong values every time. The kit
 * owns the queues. They are not thread-safe. \since 0.4.0 */
typedef struct DLBridgeConformanceQueue DLBridgeConformanceQueue;

/** Appends work. `work(context)` runs once, on the thread that synchronizes; at the latest at the end of
 * the check, unless it fails. `context` must live until then. Returns 0, or -1 without memory.
 * \since 0.4.0 */
int32_t dlbridge_conformance_queue_submit(DLBridgeConformanceQueue* queue, void (*work)(void* context),
                                          void* context);

/** Orders later work of `queue` after all work that `other` has now. Returns 0, or -1 without memory.
 * \since 0.4.0 */
int32_t dlbridge_conformance_queue_wait(DLBridgeConformanceQueue* queue,
                                        DLBridgeConformanceQueue* other);

/** Runs all work of `queue`, and the work that it waits for. \since 0.4.0 */
void dlbridge_conformance_queue_synchronize(DLBridgeConformanceQueue* queue);

/* ---------------------------------------------------------------------------------------------
 * The project
 * ------------------------------------------------------------------------------------------- */

/** A tensor that the project is to make. \since 0.4.0 */
typedef struct DLBridgeConformanceRequest {
  uint32_t struct_size;      /**< sizeof(DLBridgeConformanceRequest) of the kit. */
  uint32_t options;          /**< 0 */
  DLBridgeKind kind;         /**< DLBRIDGE_KIND_LEGACY or DLBRIDGE_KIND_VERSIONED. */
  int32_t ndim;              /**< Number of axes. */
  const int64_t* shape;      /**< `ndim` extents; NULL if ndim is 0. */
  const int64_t* strides;    /**< `ndim` strides in elements; NULL: compact, last axis fastest. */
  DLDataType dtype;          /**< One of the project's dtypes. */
  uint32_t features;         /**< The features that the request needs: DLBRIDGE_CONFORMANCE_* bits. */
  DLDevice device;           /**< The project's device. */
  uint64_t tensor_flags;     /**< READ_ONLY: of an immutable array. IS_COPIED: export a copy. PADDED:
                                  elements of less than 8 bits are padded. */
  DLPackVersion max_version; /**< Newest version that the consumer reads. */
  const void* values;        /**< The elements in row-major order without gaps: the bytes of a compact
                                  tensor of this shape, dtype and padded flag. */
  size_t value_bytes;        /**< Size of `values`. */
  DLBridgeConformanceQueue* queue;    /**< NULL, or the queue on which the project has to write the
                                           values, as a device would. */
  DLBridgeConformanceQueue* consumer; /**< If `queue` is set: the consumer's queue, whose later work must
                                           see the values; NULL: the values must be there at return. */
} DLBridgeConformanceRequest;

/** What the project made. The kit has zeroed it. \since 0.4.0 */
typedef struct DLBridgeConformanceExport {
  uint32_t struct_size; /**< Set by the kit. */
  uint32_t options;     /**< 0 */
  void* tensor;         /**< The managed tensor. */
  void* array;          /**< The project's array of the same values, or NULL. */
  DLBridgeKind kind;    /**< The struct that `tensor` is. */
  uint32_t reserved;    /**< 0 */
} DLBridgeConformanceExport;

/** A tensor for the project to consume. \since 0.4.0 */
typedef struct DLBridgeConformanceOffer {
  uint32_t struct_size; /**< sizeof(DLBridgeConformanceOffer) of the kit. */
  uint32_t options;     /**< 0 */
  void* tensor;         /**< The managed tensor. */
  DLBridgeKind kind;    /**< The struct that `tensor` is. */
  uint32_t features;    /**< The features that the tensor needs: DLBRIDGE_CONFORMANCE_* bits. */
  DLBridgeConformanceQueue* queue; /**< NULL, or the queue on which the project has to read: its later
                                        work sees the values. It lives until the end of the check. */
} DLBridgeConformanceOffer;

/** Bits of DLBridgeConformanceProject::options. \since 0.4.0 */
enum {
  /** `consume` has called the deleter when it returns REJECTED. Without this bit, a rejected tensor is
   * untouched and the kit calls the deleter. */
  DLBRIDGE_CONFORMANCE_REJECTION_DELETES = 1 << 8
};

/** A project to check. NULL callbacks leave out the checks that need them. `message` has
 * DLBRIDGE_CONFORMANCE_MESSAGE_SIZE bytes and holds an empty string; a callback that does not return
 * DONE writes the reason there. \since 0.4.0 */
typedef struct DLBridgeConformanceProject {
  uint32_t struct_size; /**< sizeof(DLBridgeConformanceProject) */
  uint32_t options;     /**< DLBRIDGE_CONFORMANCE_REJECTION_DELETES */
  const char* name;     /**< For the reports; must be set. */
  void* user;           /**< Passed to each callback. */

  /** Makes an array with the values of `request`, and a managed tensor of it. After DONE the kit owns
   * `out->tensor`, whose deleter it calls exactly once, and `out->array`, which it passes to `release`
   * exactly once, in either order. After another answer nothing belongs to the kit. */
  DLBridgeConformanceAnswer (*make)(void* user, const DLBridgeConformanceRequest* request,
                                    DLBridgeConformanceExport* out, char* message);

  /** Imports the tensor of `offer` and sets `*array`, which the kit passes to `release`. After DONE the
   * project owns the tensor and calls its deleter exactly once, in `release` at the latest (or in
   * `collect`). After REJECTED see DLBRIDGE_CONFORMANCE_REJECTION_DELETES. UNSUPPORTED leaves the tensor
   * untouched. */
  DLBridgeConformanceAnswer (*consume)(void* user, const DLBridgeConformanceOffer* offer,
                                       void** array, char* message);

  /** Writes the elements of `array` to `out`, in row-major order without gaps, as in
   * DLBridgeConformanceRequest::values. `size` is the number of bytes that the kit expects; the
   * callback writes no more. Sets `*written` to the number of bytes that the array has. */
  DLBridgeConformanceAnswer (*read)(void* user, void* array, void* out, size_t size, size_t* written,
                                    char* message);

  /** Overwrites the elements of `array` with `values`, laid out as for `read`. REJECTED if the array is
   * immutable. May be NULL. */
  DLBridgeConformanceAnswer (*write)(void* user, void* array, const void* values, size_t size,
                                     char* message);

  /** Ends an array of `make` or `consume`; never called with NULL. */
  void (*release)(void* user, void* array);

  /** Frees what `release` and deleters have left for later, as a garbage collector does. May be NULL. */
  void (*collect)(void* user);

  /** The number of arrays that are alive. May be NULL: leaks then show only as a growing process. */
  int64_t (*live)(void* user);

  /** The newest table of the C exchange API, which lives as long as the process. NULL: no table. The
   * kit passes arrays of `consume` and `make` where a table takes a Python object. A table that needs
   * real Python objects declares EXCHANGE_OBJECTS as unsupported. */
  const DLPackExchangeAPIHeader* (*exchange_api)(void* user);

  const DLDataType* dtypes; /**< Supported dtypes; NULL: every dtype that the kit has. */
  size_t dtype_count;       /**< Their number; 0 if `dtypes` is NULL. */
  DLDevice device;          /**< Device of the tensors, whose memory the host can read; {0, 0}: CPU. */
  DLDevice queue_device;    /**< Device with queues, in host memory; {0, 0}: none, and the checks of
                                 streams are skipped. */
  uint32_t unsupported;     /**< Features that the project does not have. */
  uint32_t producer_unsupported; /**< Those that only `make` does not have. */
  uint32_t consumer_unsupported; /**< Those that only `consume` does not have. */
  uint32_t reserved;             /**< 0 */
} DLBridgeConformanceProject;

/** A project with `struct_size` set; the rest is zero. \since 0.4.0 */
static inline DLBridgeConformanceProject dlbridge_conformance_project_init(void) {
  DLBridgeConformanceProject value;
  memset(&value, 0, sizeof value);
  value.struct_size = (uint32_t)sizeof value;
  return value;
}

/* ---------------------------------------------------------------------------------------------
 * Results
 * ------------------------------------------------------------------------------------------- */

/** Outcome of a check. \since 0.4.0 */
enum {
  DLBRIDGE_CONFORMANCE_PASSED = 0,
  DLBRIDGE_CONFORMANCE_FAILED = 1,
  /** Failed, as the quirks say. */
  DLBRIDGE_CONFORMANCE_KNOWN = 2,
  /** Not run: a feature, callback or dtype is missing. */
  DLBRIDGE_CONFORMANCE_SKIPPED = 3,
  /** A quirk that no longer occurs. Counts as a failure: remove it from the list. */
  DLBRIDGE_CONFORMANCE_STALE = 4
};

/** How bad a failure is, worst first. \since 0.4.0 */
enum {
  DLBRIDGE_CONFORMANCE_CRASH = 1,        /**< The process ends, hangs or reads foreign memory. */
  DLBRIDGE_CONFORMANCE_CORRUPTION = 2,   /**< Memory is freed twice, or written to without a right. */
  DLBRIDGE_CONFORMANCE_LEAK = 3,         /**< Memory is never freed. */
  DLBRIDGE_CONFORMANCE_WRONG_ANSWER = 4, /**< Wrong values, or a wrong description of them. */
  DLBRIDGE_CONFORMANCE_DEVIATION = 5     /**< A rule is broken without harm to careful partners. */
};

/** The result of one check. Texts are UTF-8 and never NULL; they are valid during the call of the report
 * callback. \since 0.4.0 */
typedef struct DLBridgeConformanceResult {
  uint32_t struct_size;      /**< sizeof(DLBridgeConformanceResult) of the kit. */
  uint32_t options;          /**< 0 */
  int32_t outcome;           /**< DLBRIDGE_CONFORMANCE_PASSED and so on. */
  int32_t severity;          /**< DLBRIDGE_CONFORMANCE_CRASH and so on; 0 unless it failed. */
  const char* check;         /**< Name in conformance/checks.toml. */
  const char* title;         /**< The rule in words. */
  const char* specification; /**< The text that demands it, and its address. */
  const char* expected;      /**< After a failure. */
  const char* found;         /**< After a failure; the reason of a skipped check. */
  const char* reproducer;    /**< After a failure: a few lines of C that do not need dlbridge. */
  const char* reason;        /**< Of the quirk, for KNOWN and STALE. */
  const char* link;          /**< Of the quirk, for KNOWN and STALE. */
} DLBridgeConformanceResult;

/** A known deviation. \since 0.4.0 */
typedef struct DLBridgeConformanceQuirk {
  const char* check;  /**< Name of the check, or a pattern of fnmatch such as "layout-*". */
  const char* reason; /**< Why the project deviates; must be set. */
  const char* link;   /**< Where that is tracked; must be set. */
} DLBridgeConformanceQuirk;

/** How checks are separated from each other. \since 0.4.0 */
typedef uint32_t DLBridgeConformanceIsolation;

/** \since 0.4.0 */
enum {
  /** FORK where the system has it, else NONE. */
  DLBRIDGE_CONFORMANCE_ISOLATION_DEFAULT = 0,
  /** A forked child for each check. The child has only the calling thread. */
  DLBRIDGE_CONFORMANCE_ISOLATION_FORK = 1,
  /** The program in `command` is started again and runs checks until one ends it. For languages whose
   * runtime does not survive fork, such as Go. It must reach dlbridge_conformance_run with the same
   * project, and write to no file descriptor above 2 that it has not opened. */
  DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND = 2,
  /** In the calling process. A crash ends the run, there is no time limit, and no guard pages are
   * protected after a deleter has run. The reports say so. */
  DLBRIDGE_CONFORMANCE_ISOLATION_NONE = 3
};

/** How to run the checks. A NULL pointer or zero means the default. \since 0.4.0 */
typedef struct DLBridgeConformanceSettings {
  uint32_t struct_size;                   /**< sizeof(DLBridgeConformanceSettings) */
  uint32_t options;                       /**< 0 */
  DLBridgeConformanceIsolation isolation; /**< DLBRIDGE_CONFORMANCE_ISOLATION_* */
  uint32_t time_limit_ms;                 /**< For each check; 0: 10,000. */
  uint32_t rounds;                        /**< Of the checks for leaks; 0: 100,000. */
  uint32_t quirk_count;                   /**< Number of `quirks`. */
  const DLBridgeConformanceQuirk* quirks; /**< Known deviations. */
  const char* quirks_path; /**< A file of known deviations: tables [[quirk]] with the strings check,
                                reason and link, one `key = "value"` a line, as in TOML. */
  const char* only;        /**< Run the checks whose names contain this text. NULL: all. */
  const char* tap_path;    /**< Write TAP 14 to this file; "-": the standard output. */
  const char* junit_path;  /**< Write JUnit XML to this file; "-": the standard output. */
  const char* const* command; /**< For ISOLATION_COMMAND: argv, ended by NULL. */
  /** Receives each result. May be NULL. */
  void (*report)(void* report_user, const DLBridgeConformanceResult* result);
  void* report_user; /**< Passed to `report`. */
} DLBridgeConformanceSettings;

/** Settings with `struct_size` set; the rest is zero. \since 0.4.0 */
static inline DLBridgeConformanceSettings dlbridge_conformance_settings_init(void) {
  DLBridgeConformanceSettings value;
  memset(&value, 0, sizeof value);
  value.struct_size = (uint32_t)sizeof value;
  return value;
}

/** The sums of a run. \since 0.4.0 */
typedef struct DLBridgeConformanceSummary {
  uint32_t struct_size;                   /**< In: sizeof(DLBridgeConformanceSummary). */
  uint32_t options;                       /**< In: 0. */
  uint32_t passed;                        /**< Checks that passed. */
  uint32_t failed;                        /**< Checks that failed without a quirk. */
  uint32_t known;                         /**< Checks that failed as the quirks say. */
  uint32_t skipped;                       /**< Checks that did not run. */
  uint32_t stale;                         /**< Quirks that no longer occur. */
  DLBridgeConformanceIsolation isolation; /**< What was used. */
} DLBridgeConformanceSummary;

/** A summary with `struct_size` set; the rest is zero. \since 0.4.0 */
static inline DLBridgeConformanceSummary dlbridge_conformance_summary_init(void) {
  DLBridgeConformanceSummary value;
  memset(&value, 0, sizeof value);
  value.struct_size = (uint32_t)sizeof value;
  return value;
}

/** Runs the checks and writes the reports. `settings` may be NULL. Returns DLBRIDGE_OK whatever the
 * checks find. Errors: INVALID_ARGUMENT (a struct, an unreadable quirks file, a quirk of an unknown
 * check, a report that cannot be written), TOO_NEW, UNSUPPORTED (the isolation), OUT_OF_MEMORY.
 * \since 0.4.0 */
DLBridgeStatus dlbridge_conformance_run(const DLBridgeConformanceProject* project,
                                        const DLBridgeConformanceSettings* settings,
                                        DLBridgeConformanceSummary* out, DLBridgeError* error);

/** The exit status of a program: 0 if no check failed, no quirk is stale and at least one check passed,
 * else 1. \since 0.4.0 */
int dlbridge_conformance_exit_status(const DLBridgeConformanceSummary* summary);

/** The number of checks of the kit, and the name and title of each; NULL past the end. \since 0.4.0 */
size_t dlbridge_conformance_check_count(void);
/** \since 0.4.0 */
const char* dlbridge_conformance_check_name(size_t index);
/** \since 0.4.0 */
const char* dlbridge_conformance_check_title(size_t index);

/** A whole main(): reads the options of the command line (--help lists them), runs the checks, writes
 * TAP to the standard output and returns the exit status; 2 for a wrong option. \since 0.4.0 */
int dlbridge_conformance_main(int argc, char** argv, const DLBridgeConformanceProject* project);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CONFORMANCE_H_ */
