/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>

#include "dlbridge/dlbridge.h"

/* What both ranks agree on: a matrix of float32, 3 by 2. */
static const int64_t agreed[2] = {3, 2};
static const DLDataType float32 = {kDLFloat, 32, 1};

static void must(DLBridgeStatus status, const DLBridgeError* error) {
  if (status == DLBRIDGE_OK) return;
  fprintf(stderr, "%s\n", error->message);
  MPI_Abort(MPI_COMM_WORLD, 1); /* the other rank may be waiting */
}

/* MPI's type of the elements where they lie, whatever the strides: no compact copy is made. */
static MPI_Datatype type_of(const DLTensor* tensor) {
  MPI_Datatype column, matrix;
  const MPI_Aint size = sizeof(float);
  MPI_Type_create_hvector(2, 1, tensor->strides[1] * size, MPI_FLOAT, &column);
  MPI_Type_create_hvector(3, 1, tensor->strides[0] * size, column, &matrix);
  MPI_Type_free(&column);
  MPI_Type_commit(&matrix);
  return matrix;
}

static void send(void* given) {
  static const DLDevice cpu = {kDLCPU, -1};
  DLBridgePolicy demands = DLBRIDGE_POLICY_INIT;
  demands.options = DLBRIDGE_POLICY_LIMIT_NDIM;
  demands.min_ndim = demands.max_ndim = 2, demands.shape = agreed;
  demands.dtypes = &float32, demands.dtype_count = 1;
  demands.devices = &cpu, demands.device_count = 1;
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET, options.policy = &demands;
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error;
  must(dlbridge_import(given, DLBRIDGE_KIND_UNKNOWN, &options, &tensor, &error), &error);
  MPI_Datatype type = type_of(&tensor->dl_tensor);
  MPI_Send(tensor->dl_tensor.data, 1, type, 1, 0, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  dlbridge_release_versioned(tensor);
}

static void receive(void) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.shape = agreed, spec.ndim = 2, spec.dtype = float32;
  DLManagedTensorVersioned* tensor = NULL;
  DLBridgeError error;
  must(dlbridge_allocate(&spec, &tensor, &error), &error);
  const float* x = tensor->dl_tensor.data;
  MPI_Recv(tensor->dl_tensor.data, 6, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("%g %g, %g %g, %g %g\n", x[0], x[1], x[2], x[3], x[4], x[5]);
  dlbridge_release_versioned(tensor);
}

int main(int count, char** words) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {3, 2}, strides[2] = {1, 3}; /* a transposed tensor of a plugin */
  DLManagedTensor plugin = {
      {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0}, NULL, NULL};
  int rank = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) send(&plugin);
  if (rank == 1) receive();
  return MPI_Finalize();
}
