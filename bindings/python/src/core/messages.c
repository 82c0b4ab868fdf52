/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies with names of C, and what a program in Python does instead. */
#include "messages.h"

#include <string.h>

static const struct {
  const char *in_c, *in_python;
} remedies[] = {
    /* clang-format off */
    /* [facts/rules.toml] */
    {"convert it to a known dtype; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE",
     "convert it to a known dtype"},
    {"move it to a known device; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE",
     "move it to a known device"},
    {"clear the bit; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN, policies clear DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS",
     "clear the bit in the producer"},
    {"make a copy with dlbridge_copy; if writability is not recorded but you know it, set DLBRIDGE_POLICY_VOUCH_WRITABLE",
     "make a writable copy with copy=True"},
    {"keep it versioned, or downgrade it with DLBRIDGE_CONVERT_COPY or DLBRIDGE_CONVERT_DROP_READ_ONLY",
     "request it with max_version=(1, 0) or copy=True, or export it with drop_read_only=True"},
    {"keep it versioned, or downgrade it with DLBRIDGE_CONVERT_COPY or DLBRIDGE_CONVERT_DROP_PADDED",
     "request it with max_version=(1, 1), or use dlbridge.adapt(x, copy=True)"},
    {"convert it to a dtype of known size; policies can set DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES",
     "convert it to a dtype of known size"},
    {"set them in the producer, or set DLBRIDGE_POLICY_ALLOW_NULL_STRIDES in the policy",
     "set them in the producer"},
    {"make a compact copy with dlbridge_copy, or set DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP",
     "make a compact copy with copy=True"},
    {"request a newer version; conversions can set DLBRIDGE_CONVERT_ALLOW_UNKNOWN",
     "request a newer version"},
    {"keep it versioned, or downgrade it with DLBRIDGE_CONVERT_ALLOW_NEWER_CODES",
     "request it with max_version=(1, 0), or export it with allow_newer_codes=True"},
    {"copy it to aligned memory; dlbridge_copy aligns to 256 bytes",
     "copy it to aligned memory; copy=True aligns to 256 bytes"},
    {"copy it to that layout; dlbridge_copy makes C order",
     "copy it to that layout; copy=True makes C order"},
    {"copy it to a listed device with dlbridge_copy",
     "copy it to a listed device"},
    {"clear DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET",
     "keep the byte_offset"},
    {"make a compact copy with dlbridge_copy",
     "make a compact copy with copy=True"},
    {"call dlbridge_import first",
     "import it with from_dlpack"},
    {"copy it with dlbridge_copy",
     "copy it with device=\"cpu\""},
    /* [/facts] */
    /* clang-format on */
};

/* A new string with the message, or NULL with an exception. */
static PyObject* in_python(const char* text) {
  /* A truncated message may end inside a UTF-8 character. */
  PyObject* message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  size_t i;
  for (i = 0; message != NULL && i < sizeof remedies / sizeof *remedies; ++i) {
    if (strstr(text, remedies[i].in_c) != NULL) {
      PyObject* replaced =
          PyObject_CallMethod(message, "replace", "ss", remedies[i].in_c, remedies[i].in_python);
      Py_DECREF(message);
      return replaced;
    }
  }
  return message;
}

int core_raise(const DLBridgeError* error) {
  return dlbridge_py_raise_as_(dlbridge_py_error_type(error->status), in_python(error->message),
                               error->status, error->rule, error->axis, error->native_code);
}
