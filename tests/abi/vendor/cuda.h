/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's types that cuda_api.h names, for tests/abi/api.py. */
#include <stddef.h>
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
