/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's types that level_zero_api.h names, for tests/abi/api.py. */
typedef struct _ze_command_list_handle_t* ze_command_list_handle_t;
typedef struct _ze_command_queue_handle_t* ze_command_queue_handle_t;
typedef struct _ze_context_handle_t* ze_context_handle_t;
typedef struct _ze_device_handle_t* ze_device_handle_t;
typedef struct _ze_driver_handle_t* ze_driver_handle_t;
