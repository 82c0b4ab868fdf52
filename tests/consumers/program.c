/*
 * SPDX-License-Identifier: Apache-2.0
 * A user of the library in C: upgrades a tensor, sees a crafted one rejected, releases. The
 * argument is the version that the library must have. Prints the first failed expectation and fails
 * then.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

static int deleted = 0;

static void count(DLManagedTensor* self) {
  (void)self;
  ++deleted;
}

static int wrong(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

static int check_version(const char* expected) {
  const uint32_t header =
      DLBRIDGE_VERSION_MAJOR * 10000 + DLBRIDGE_VERSION_MINOR * 100 + DLBRIDGE_VERSION_PATCH;
  if (strcmp(DLBRIDGE_VERSION_STRING, expected) != 0) return wrong("header of another version");
  if (strcmp(dlbridge_version_string(), expected) != 0) return wrong("library of another version");
  if (dlbridge_version() != header) return wrong("version as a number is another one");
  if (dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi)) == NULL) return wrong("another ABI");
  return 0;
}

static int check_upgrade(void) {
  float data[6] = {0};
  int64_t shape[2] = {2, 3};
  DLManagedTensor legacy = {{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, NULL, count};
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;

  shape[0] = INT64_MAX;
  if (dlbridge_upgrade(&legacy, NULL, &tensor, &error) == DLBRIDGE_OK) {
    return wrong("a crafted shape was accepted");
  }
  if (error.rule != DLBRIDGE_RULE_COUNT_OVERFLOW || deleted != 0) return wrong(error.message);

  shape[0] = 2;
  if (dlbridge_upgrade(&legacy, NULL, &tensor, &error) != DLBRIDGE_OK) return wrong(error.message);
  if (tensor->version.major != 1 || tensor->dl_tensor.data != data) return wrong("wrong tensor");
  if (dlbridge_validate_versioned(tensor, NULL, &error) != DLBRIDGE_OK) return wrong(error.message);
  if (deleted != 0) return wrong("the deleter was called too early");
  dlbridge_release_versioned(tensor);
  if (deleted != 1) return wrong("the deleter was not called exactly once");
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return wrong("usage: program VERSION");
  if (check_version(argv[1]) != 0 || check_upgrade() != 0) return 1;
  printf("C, dlbridge %s\n", dlbridge_version_string());
  return 0;
}
