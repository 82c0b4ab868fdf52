// SPDX-License-Identifier: Apache-2.0
// Text for a terminal of 80 columns.
#ifndef DLBRIDGE_TOOL_SRC_PAGE_H_
#define DLBRIDGE_TOOL_SRC_PAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlbridge::tool {

constexpr size_t kColumns = 80;

// Colour if standard output is a terminal and NO_COLOR is not set; line drawing characters if the
// locale is UTF-8.
struct Terminal {
  bool colour = false;
  bool unicode = false;
};
Terminal FindTerminal();

enum class Style { kPlain, kTitle, kFaint, kGood, kBad, kNote };

// The text without bytes that could move the cursor or hide text: control characters, characters
// that change the direction of writing, and bytes that are not UTF-8 are written as \xNN. At most
// `limit` bytes of it.
std::string Printable(std::string_view text, size_t limit = 1000);

// Collects lines; nothing is printed before a command has succeeded.
class Page {
 public:
  explicit Page(Terminal terminal) : terminal_(terminal) {}

  bool unicode() const { return terminal_.unicode; }
  const std::string& text() const { return text_; }

  std::string Paint(Style style, std::string_view text) const;
  void Line(std::string_view text = "");
  void Title(std::string_view text);
  // `head`, then `text` in a column from `indent` to the right edge. The width of `head` is at most
  // `indent`, except in the first line, where the text then begins after it.
  void Wrapped(size_t indent, std::string_view head, std::string_view text,
               Style head_style = Style::kPlain);
  // A row "  label   text" whose text starts in column 16. An empty text has no row.
  void Row(std::string_view label, std::string_view text);

 private:
  Terminal terminal_;
  std::string text_;
};

// Lines of at most `width` columns. A word that is longer is cut.
std::vector<std::string> Wrap(std::string_view text, size_t width);

// With a capital and a full stop.
std::string Sentence(std::string text);
// "1 tensor", "2 tensors".
std::string Count(uint64_t number, const std::string& noun);
std::string Join(const std::vector<std::string>& words, const std::string& between);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_PAGE_H_
