/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's types that opencl_api.h names, for tests/abi/api.py. */
typedef struct _cl_command_queue* cl_command_queue;
typedef struct _cl_context* cl_context;
typedef struct _cl_device_id* cl_device_id;
typedef struct _cl_mem* cl_mem;
typedef struct _cl_platform_id* cl_platform_id;
