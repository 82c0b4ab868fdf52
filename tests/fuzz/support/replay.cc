// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on files, for builds without libFuzzer. Each argument is a file or a folder.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

void AddFiles(const char* argument, std::vector<fs::path>* out) {
  if (!fs::is_directory(argument)) {
    out->emplace_back(argument);
    return;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argument)) {
    if (entry.is_regular_file()) {
      out->push_back(entry.path());
    }
  }
}

bool Replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.string().c_str());
    return false;
  }
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  // A copy of exactly that size, so that a sanitizer reports a read past its end.
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  // A failing target aborts; the last path names its input.
  std::printf("%s\n", path.filename().string().c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) {
    AddFiles(arguments[i], &files);
  }
  std::sort(files.begin(), files.end());
  LLVMFuzzerTestOneInput(nullptr, 0);
  const bool read = std::all_of(files.begin(), files.end(), Replay);
  std::printf("%zu inputs\n", files.size());
  return read && !files.empty() ? 0 : 1;
}
