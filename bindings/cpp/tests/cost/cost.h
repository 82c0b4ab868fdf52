/* SPDX-License-Identifier: Apache-2.0
 * The same operations in C and in C++, in separate files, so that the cost of the binding can be
 * counted. They are written as a user writes them, and return 1 on success. */
#ifndef DLBRIDGE_CPP_TESTS_COST_H_
#define DLBRIDGE_CPP_TESTS_COST_H_

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Validates a borrowed legacy tensor. */
int c_validate(const DLManagedTensor* tensor);
int cpp_validate(const DLManagedTensor* tensor);

/* Upgrades a legacy tensor and releases the result. */
int c_upgrade(DLManagedTensor* tensor);
int cpp_upgrade(DLManagedTensor* tensor);

/* Imports a void* of unknown kind and releases the result. */
int c_import(void* tensor);
int cpp_import(void* tensor);

/* Makes one more owner and releases it. */
int c_share(const DLManagedTensorVersioned* tensor);
int cpp_share(const DLManagedTensorVersioned* tensor);

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPP_TESTS_COST_H_ */
