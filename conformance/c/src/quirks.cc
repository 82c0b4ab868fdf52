// SPDX-License-Identifier: Apache-2.0
// Known deviations, from an array or from a file: a subset of TOML that needs no parser of its
// tables.
#include "run.h"

#if !defined(_WIN32)
#include <fnmatch.h>
#endif

namespace dlbridge_conformance {

bool Concerns(const Quirk& quirk, const char* check) {
#if defined(_WIN32)
  return strcmp(quirk.check.text, check) == 0;
#else
  return fnmatch(quirk.check.text, check, 0) == 0;
#endif
}

namespace {

struct File {
  const char* path;
  int line;
  DLBridgeError* error;

  DLBridgeStatus Fail(const char* what) const {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, Say("%s:%d: %s", path, line, what));
  }
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

char* Trim(char* text) {
  while (IsBlank(*text)) {
    ++text;
  }
  size_t length = strlen(text);
  while (length > 0 && IsBlank(text[length - 1])) {
    text[--length] = 0;
  }
  return text;
}

// Reads `"text"` with \" and \\, and nothing but a comment after it. NULL if it is something else.
char* Unquote(char* text) {
  if (*text != '"') {
    return nullptr;
  }
  char* out = text;
  char* in = text + 1;
  for (; *in != '"'; ++in) {
    if (*in == '\\' && (in[1] == '"' || in[1] == '\\')) {
      ++in;
    } else if (*in == '\\' || *in == 0) {
      return nullptr;
    }
    *out++ = *in;
  }
  const char* rest = in + 1;
  while (IsBlank(*rest)) {
    ++rest;
  }
  *out = 0;
  return *rest == 0 || *rest == '#' ? text : nullptr;
}

DLBridgeStatus SetKey(const File& file, char* line, Quirks* out) {
  char* equals = strchr(line, '=');
  if (equals == nullptr || out->size() == 0) {
    return file.Fail(out->size() == 0 ? "expected [[quirk]] before the first key"
                                      : "expected [[quirk]] or a key with a value");
  }
  *equals = 0;
  const char* key = Trim(line);
  const char* value = Unquote(Trim(equals + 1));
  if (value == nullptr) {
    return file.Fail("expected a string in double quotes on one line");
  }
  Quirk& quirk = (*out)[out->size() - 1];
  if (strcmp(key, "check") == 0) {
    quirk.check.Set(value);
  } else if (strcmp(key, "reason") == 0) {
    quirk.reason.Set(value);
  } else if (strcmp(key, "link") == 0) {
    quirk.link.Set(value);
  } else {
    return file.Fail("expected the key check, reason or link");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus ReadLine(const File& file, char* line, Quirks* out) {
  line = Trim(line);
  if (*line == 0 || *line == '#') {
    return DLBRIDGE_OK;
  }
  if (strcmp(line, "[[quirk]]") != 0) {
    return SetKey(file, line, out);
  }
  return out->Add(Quirk()) ? DLBRIDGE_OK
                           : SetError(file.error, DLBRIDGE_ERROR_OUT_OF_MEMORY, Say("no memory"));
}

DLBridgeStatus ReadFile(const char* path, Quirks* out, DLBridgeError* error) {
  FILE* stream = fopen(path, "r");
  if (stream == nullptr) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                    Say("quirks_path: cannot open %s", path));
  }
  char line[1024];
  DLBridgeStatus status = DLBRIDGE_OK;
  File file = {path, 0, error};
  while (status == DLBRIDGE_OK && fgets(line, sizeof line, stream) != nullptr) {
    ++file.line;
    status = strlen(line) == sizeof line - 1 ? file.Fail("a line of more than 1000 characters")
                                             : ReadLine(file, line, out);
  }
  fclose(stream);
  return status;
}

bool ConcernsAny(const Quirk& quirk) {
  for (size_t i = 0; i < kCheckCount; ++i) {
    if (Concerns(quirk, kChecks[i].name)) {
      return true;
    }
  }
  return false;
}

DLBridgeStatus CheckQuirks(const Quirks& quirks, DLBridgeError* error) {
  for (const Quirk& quirk : quirks) {
    if (!ConcernsAny(quirk)) {
      return SetError(
          error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
          Say("quirk: there is no check \"%s\" (--list shows the names)", quirk.check.text));
    }
    if (quirk.reason.text[0] == 0 || quirk.link.text[0] == 0) {
      return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                      Say("quirk %s: expected a reason and a link", quirk.check.text));
    }
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus ReadQuirks(const DLBridgeConformanceSettings& settings, Quirks* out,
                          DLBridgeError* error) {
  for (uint32_t i = 0; i < settings.quirk_count; ++i) {
    const DLBridgeConformanceQuirk& given = settings.quirks[i];
    Quirk quirk = {};
    quirk.check.Set(given.check == nullptr ? "" : given.check);
    quirk.reason.Set(given.reason == nullptr ? "" : given.reason);
    quirk.link.Set(given.link == nullptr ? "" : given.link);
    if (!out->Add(quirk)) {
      return SetError(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, Say("no memory"));
    }
  }
  if (settings.quirks_path != nullptr) {
    const DLBridgeStatus status = ReadFile(settings.quirks_path, out, error);
    if (status != DLBRIDGE_OK) {
      return status;
    }
  }
  return CheckQuirks(*out, error);
}

}  // namespace dlbridge_conformance
