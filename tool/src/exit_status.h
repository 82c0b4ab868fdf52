// SPDX-License-Identifier: Apache-2.0
// The exit statuses of the program, which docs/tool.md and the manual page list.
#ifndef DLBRIDGE_TOOL_SRC_EXIT_STATUS_H_
#define DLBRIDGE_TOOL_SRC_EXIT_STATUS_H_

#include <stdexcept>
#include <string>

namespace dlbridge::tool {

enum ExitStatus {
  kFine = 0,
  kBroken = 1,
  kUsage = 2,
  kUnreadable = 3,
};

// Ends the program with this status and this message.
class Failure : public std::runtime_error {
 public:
  Failure(ExitStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
};

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_EXIT_STATUS_H_
