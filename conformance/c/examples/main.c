/* SPDX-License-Identifier: Apache-2.0
 * The program that checks the array library. */
#include "array.h"

int main(int argc, char** argv) {
  const DLBridgeConformanceProject project = array_project();
  return dlbridge_conformance_main(argc, argv, &project);
}
