/* SPDX-License-Identifier: Apache-2.0
 * The functions of each plugin of this test. Each plugin is written in one language with the
 * binding of that language, and they pass one tensor to each other. */
#ifndef DLBRIDGE_TESTS_LANGUAGES_PLUGIN_H_
#define DLBRIDGE_TESTS_LANGUAGES_PLUGIN_H_

#include <stdint.h>

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Imports a foreign tensor of float32 with the binding and sums its elements. `*holder` owns it
 * until `drop`. The tensor is consumed in every case: it has been released if the status is not
 * 0. */
typedef int32_t (*TakeFunction)(DLManagedTensorVersioned* tensor, uintptr_t* holder, double* sum);
/* Another owner of a holder's tensor. */
typedef int32_t (*ShareFunction)(uintptr_t holder, DLManagedTensorVersioned** out);
typedef void (*DropFunction)(uintptr_t holder);

typedef struct Plugin {
  TakeFunction take;
  ShareFunction share;
  DropFunction drop;
} Plugin;

/* Python calls this function of Rust's plugin. `managed` is a struct of `kind`, which is consumed
 * on status 0. Each of the `count` plugins takes a share in its own thread. Then the plugins, and
 * Rust's own owner with the number `count`, release their tensors one after another in `order`,
 * which has 0 to `count` once each. `deletes` is the number of runs of the producer's deleter: 0
 * until the last release, then 1. `*sum` is the sum that each plugin read. On failure the message
 * is written to the `size` bytes at `message`. */
typedef int32_t (*ExchangeFunction)(void* managed, int32_t kind, const Plugin* plugins,
                                    uint32_t count, const uint32_t* order, const int32_t* deletes,
                                    double* sum, char* message, uint32_t size);

/* As ExchangeFunction, without an order: each of `threads` threads passes a share to a plugin,
 * passes a share of that to the next plugin, and drops both, `rounds` times. */
typedef int32_t (*StormFunction)(void* managed, int32_t kind, const Plugin* plugins, uint32_t count,
                                 uint32_t threads, uint32_t rounds, double sum, char* message,
                                 uint32_t size);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_TESTS_LANGUAGES_PLUGIN_H_ */
