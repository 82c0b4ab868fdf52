/* SPDX-License-Identifier: Apache-2.0
 * What the plugins of this test offer, each written in a language of its own on that language's
 * binding, so that they can hand one tensor to each other. */
#ifndef DLBRIDGE_TESTS_LANGUAGES_PLUGIN_H_
#define DLBRIDGE_TESTS_LANGUAGES_PLUGIN_H_

#include <stdint.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes a tensor of float32 as foreign: validates it, makes it one of the binding's own and adds
 * its elements up. `*holder` keeps it until `drop`. The tensor is consumed in every case: where the
 * status is not 0 it has been released. */
typedef int32_t (*TakeFunction)(DLManagedTensorVersioned* tensor, uintptr_t* holder, double* sum);
/* One more owner of what a holder keeps. */
typedef int32_t (*ShareFunction)(uintptr_t holder, DLManagedTensorVersioned** out);
typedef void (*DropFunction)(uintptr_t holder);

typedef struct Plugin {
  TakeFunction take;
  ShareFunction share;
  DropFunction drop;
} Plugin;

/* Rust's plugin is also the one that Python speaks to. `managed` is a struct of `kind`, which is
 * consumed on status 0. One thread for each of the `count` plugins takes a share; then they, and
 * last in number Rust's own owner, let go one after another as `order` says, which holds 0 to
 * `count` once each. `deletes` counts what the producer's deleter does: 0 until the last has let
 * go, then 1.
 * `*sum` is what each added up. A failure is told as text of `size` bytes at `message`. */
typedef int32_t (*ExchangeFunction)(void* managed, int32_t kind, const Plugin* plugins,
                                    uint32_t count, const uint32_t* order, const int32_t* deletes,
                                    double* sum, char* message, uint32_t size);

/* The same without an order: `threads` threads, each of which shares, hands over, shares what it
 * handed over with the next plugin and drops both, `rounds` times. */
typedef int32_t (*StormFunction)(void* managed, int32_t kind, const Plugin* plugins, uint32_t count,
                                 uint32_t threads, uint32_t rounds, double sum, char* message,
                                 uint32_t size);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_TESTS_LANGUAGES_PLUGIN_H_ */
