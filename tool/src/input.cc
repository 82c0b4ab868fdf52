// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "exit_status.h"
#include "page.h"
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

namespace dlbridge::tool {

namespace {

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) {
      std::fclose(file);
    }
  }
};
using File = std::unique_ptr<std::FILE, Closer>;

[[noreturn]] void Fail(const std::string& file, int code) {
  throw Failure(kUnreadable, InputName(file) + ": cannot read: " + std::strerror(code));
}

File Open(const std::string& file) {
#ifdef _WIN32
  _setmode(_fileno(stdin), _O_BINARY);
#endif
  File stream(file == "-" ? stdin : std::fopen(file.c_str(), "rb"));
  if (stream == nullptr) {
    Fail(file, errno);
  }
  return stream;
}

}  // namespace

std::string InputName(const std::string& file) {
  return file == "-" ? "standard input" : Printable(file, 300);
}

std::string ReadInput(const std::string& file) {
  const File stream = Open(file);
  std::string bytes;
  char block[1 << 16];
  size_t count = 0;
  errno = 0;
  while ((count = std::fread(block, 1, sizeof block, stream.get())) != 0) {
    bytes.append(block, count);
    if (bytes.size() > kMaxFileBytes) {
      throw Failure(kUnreadable, InputName(file) + ": expected at most " +
                                     std::to_string(kMaxFileBytes >> 20) +
                                     " MiB, found more; split the file, for instance by case");
    }
  }
  if (std::ferror(stream.get()) != 0) {
    Fail(file, errno);
  }
  return bytes;
}

}  // namespace dlbridge::tool
