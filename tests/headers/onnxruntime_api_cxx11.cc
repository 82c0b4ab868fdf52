// SPDX-License-Identifier: Apache-2.0
// The typed veneer in C++11, with a stand-in for the vendor's header.
#include "dlbridge/onnxruntime_api.h"

DLBridgeStatus OnnxruntimeApiCxx11(const OrtApi* api, OrtValue* value, OrtValue** out);
DLBridgeStatus OnnxruntimeApiCxx11(const OrtApi* api, OrtValue* value, OrtValue** out) {
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  const DLBridgeStatus status = dlbridge_import_ort(api, value, 0, &tensor, &error);
  return status != DLBRIDGE_OK ? status : dlbridge_export_ort(api, tensor, 0, out, &error);
}
