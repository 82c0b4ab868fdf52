// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <array>
#include <cstdlib>
#ifdef _WIN32
#include <io.h>
#else
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#endif

namespace dlbridge::tool {

namespace {

bool IsTerminal() {
#ifdef _WIN32
  return _isatty(1) != 0;
#else
  return isatty(STDOUT_FILENO) == 1;
#endif
}

bool IsUtf8() {
#ifdef _WIN32
  return false;
#else
  return std::setlocale(LC_CTYPE, "") != nullptr &&
         std::string_view(nl_langinfo(CODESET)) == "UTF-8";
#endif
}

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// The length of the UTF-8 sequence at the start of `text`, or 0 if there is none.
size_t Utf8Bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0x80                     ? 1
                        : first >= 0xC2 && first <= 0xDF ? 2
                        : first >= 0xE0 && first <= 0xEF ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  if (text.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

// The length of a sequence at the start of `text` that must not reach a terminal, or 0.
size_t HarmfulBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7F || Utf8Bytes(text) == 0) {
    return 1;
  }
  const auto second = static_cast<unsigned char>(text.size() > 1 ? text[1] : 0);
  const bool control = first == 0xC2 && second >= 0x80 && second <= 0x9F;
  const bool arabic_mark = first == 0xD8 && second == 0x9C;
  if (control || arabic_mark) {
    return 2;
  }
  const auto third = static_cast<unsigned char>(text.size() > 2 ? text[2] : 0);
  const bool general = first == 0xE2 && second == 0x80 &&
                       (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE));
  const bool isolate = first == 0xE2 && second == 0x81 && third >= 0xA6 && third <= 0xA9;
  return general || isolate ? 3 : 0;
}

std::string Escaped(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += "\\x";
    text += "0123456789abcdef"[value >> 4];
    text += "0123456789abcdef"[value & 15];
  }
  return text;
}

constexpr std::array<const char*, 6> kStyles = {"",         "\033[1m",    "\033[2m",
                                                "\033[32m", "\033[1;31m", "\033[33m"};

}  // namespace

Terminal FindTerminal() {
  const char* name = std::getenv("TERM");
  const bool dumb = name != nullptr && std::string_view(name) == "dumb";
  return {IsTerminal() && !IsSet("NO_COLOR") && !dumb, IsUtf8()};
}

std::string Printable(std::string_view text, size_t limit) {
  std::string safe;
  size_t i = 0;
  while (i < text.size() && i < limit) {
    const size_t harmful = HarmfulBytes(text.substr(i));
    const size_t length = harmful != 0 ? harmful : Utf8Bytes(text.substr(i));
    const std::string_view piece = text.substr(i, length);
    safe += harmful != 0 ? Escaped(piece) : std::string(piece);
    i += length;
  }
  return i < text.size() ? safe + "..." : safe;
}

std::string Page::Paint(Style style, std::string_view text) const {
  if (!terminal_.colour || style == Style::kPlain) {
    return std::string(text);
  }
  return kStyles.at(static_cast<size_t>(style)) + std::string(text) + "\033[0m";
}

void Page::Line(std::string_view text) {
  text_ += text.substr(0, text.find_last_not_of(' ') + 1);
  text_ += '\n';
}

void Page::Title(std::string_view text) { Line(Paint(Style::kTitle, text)); }

void Page::Wrapped(size_t indent, std::string_view head, std::string_view text, Style head_style) {
  const size_t used = head.empty() || head.size() < indent ? indent : head.size() + 1;
  const std::string blank(indent, ' ');
  std::string line = Paint(head_style, head) + std::string(used - head.size(), ' ');
  std::vector<std::string> lines = Wrap(text, kColumns - indent);
  if (used > indent && (lines.empty() || used + lines[0].size() > kColumns)) {
    Line(Paint(head_style, head));
    line = blank;
  }
  for (const std::string& part : lines) {
    Line(line + part);
    line = blank;
  }
  if (lines.empty()) {
    Line(Paint(head_style, head));
  }
}

void Page::Row(std::string_view label, std::string_view text) {
  if (!text.empty()) {
    Wrapped(16, "  " + std::string(label), text);
  }
}

std::vector<std::string> Wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t end = text.find(' ');
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(line);
      line.clear();
    }
    for (; word.size() > width; word.remove_prefix(width)) {
      lines.emplace_back(word.substr(0, width));
    }
    if (!word.empty()) {
      line += (line.empty() ? "" : " ") + std::string(word);
    }
  }
  if (!line.empty()) {
    lines.push_back(line);
  }
  return lines;
}

std::string Sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text + (text.empty() || text.back() == '.' || text.back() == '?' ? "" : ".");
}

std::string Count(uint64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string Join(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : between) + word;
  }
  return text;
}

}  // namespace dlbridge::tool
