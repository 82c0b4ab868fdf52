// SPDX-License-Identifier: Apache-2.0
// Tensors of any producer go into a session of ONNX Runtime, and its results leave as tensors.
#include <dlbridge/onnxruntime_api.h>

#include <dlbridge/dlbridge.hpp>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

const OrtApi* const ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);

void must(OrtStatus* failure) {
  if (failure != nullptr) throw std::runtime_error(ort->GetErrorMessage(failure));
}

template <class T>
using owner = std::unique_ptr<T, void (*)(T*)>;

owner<OrtValue> to_ort(dlbridge::tensor&& tensor) {
  OrtValue* value = nullptr;
  DLBridgeError error;
  const auto only_read = DLBRIDGE_CONVERT_DROP_READ_ONLY;  // an input of Run is never written to
  if (dlbridge_export_ort(ort, tensor.get(), only_read, &value, &error) != DLBRIDGE_OK)
    throw std::runtime_error(error.message);  // `tensor` still owns
  static_cast<void>(tensor.release());        // the OrtValue owns now
  return {value, ort->ReleaseValue};
}

dlbridge::tensor from_ort(owner<OrtValue> value) {
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  if (dlbridge_import_ort(ort, value.get(), 0, &tensor, &error) != DLBRIDGE_OK)
    throw std::runtime_error(error.message);  // `value` still owns
  value.release();                            // the tensor owns now
  return dlbridge::import(tensor).value();
}

dlbridge::tensor run(OrtSession* session, dlbridge::tensor&& given) {
  const auto input = to_ort(std::move(given));
  const OrtValue* in = input.get();
  OrtValue* out = nullptr;
  const char *x = "x", *y = "y";
  must(ort->Run(session, nullptr, &x, &in, 1, &y, 1, &out));
  return from_ort({out, ort->ReleaseValue});
}

int main() try {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  must(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "infer", &env));
  const owner<OrtEnv> env_owner(env, ort->ReleaseEnv);
  must(ort->CreateSessionOptions(&options));
  const owner<OrtSessionOptions> options_owner(options, ort->ReleaseSessionOptions);
  must(ort->CreateSession(env, "model.onnx", options, &session));
  const owner<OrtSession> session_owner(session, ort->ReleaseSession);
  const auto y = run(session, dlbridge::wrap_owned(std::vector<float>{1, 2, 3}).value());
  const auto values = y.elements<const float, 1>().value();
  std::cout << values(0) << ' ' << values(1) << ' ' << values(2) << '\n';
  run(session, dlbridge::wrap_owned(std::vector<std::int16_t>{1, 2, 3}).value());
} catch (const std::exception& error) {
  std::cout << error.what() << '\n';
}
