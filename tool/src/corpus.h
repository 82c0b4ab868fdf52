// SPDX-License-Identifier: Apache-2.0
// Tensors in the format of the conformance corpus (tests/conformance/README.md).
#ifndef DLBRIDGE_TOOL_SRC_CORPUS_H_
#define DLBRIDGE_TOOL_SRC_CORPUS_H_

#include <string>
#include <vector>

#include "tensor.h"

namespace dlbridge::tool {

struct Corpus {
  std::vector<Tensor> tensors;
  uint64_t left_out = 0;  // objects that describe memory and no tensor
};

// `text` is a document of cases, a list of cases, one case or one tensor. Only cases whose names
// contain `case_text` are read. Throws Failure, with the place in the file, for anything else.
Corpus ReadCorpus(const std::string& text, const std::string& case_text);

}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_CORPUS_H_
