/* SPDX-License-Identifier: Apache-2.0
 * The typed veneer in C99, with a stand-in for the vendor's header. */
#include "dlbridge/onnxruntime_api.h"

DLBridgeStatus onnxruntime_api_c99(const OrtApi* api, OrtValue* value, OrtValue** out);
DLBridgeStatus onnxruntime_api_c99(const OrtApi* api, OrtValue* value, OrtValue** out) {
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error;
  const DLBridgeStatus status = dlbridge_import_ort(api, value, 0, &tensor, &error);
  if (status != DLBRIDGE_OK) return status;
  if (dlbridge_ort_dtype(dlbridge_dtype_ort(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)) != 0) return 1;
  return dlbridge_export_ort(api, tensor, DLBRIDGE_CONVERT_DROP_READ_ONLY, out, &error);
}
