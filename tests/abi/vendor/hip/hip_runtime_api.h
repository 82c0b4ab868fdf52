/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's types that hip_api.h names, for tests/abi/api.py. */
typedef void* hipDeviceptr_t;
typedef struct ihipStream_t* hipStream_t;
#define hipStreamLegacy ((hipStream_t)1)
#define hipStreamPerThread ((hipStream_t)2)
