/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dlbridge/dlbridge.h"

static DLBridgeError error; /* after fork, each process has its own of all three */
static char bytes[4096];    /* the largest descriptor */
static struct {
  struct cmsghdr head;
  int32_t fds[253];
} rights; /* file descriptors, as a message carries them */

/* One message over a Unix socket, with file descriptors: sent, or received if `size` is 0. */
static size_t carry(int socket, size_t size, size_t* count) {
  struct iovec data = {bytes, size != 0 ? size : sizeof bytes};
  struct msghdr message = {NULL, 0, &data, 1, &rights, sizeof rights, 0};
  if (size != 0) {
    rights.head = (struct cmsghdr){CMSG_LEN(sizeof(int32_t) * *count), SOL_SOCKET, SCM_RIGHTS};
    message.msg_controllen = rights.head.cmsg_len;
    return sendmsg(socket, &message, 0) > 0 ? size : 0;
  }
  const ssize_t received = recvmsg(socket, &message, 0);
  if (received <= 0 || message.msg_controllen < CMSG_LEN(0)) return 0;
  *count = (rights.head.cmsg_len - CMSG_LEN(0)) / sizeof(int32_t);
  return (size_t)received;
}

static int failed(void) { return fprintf(stderr, "%s\n", error.message), 1; }

static int consumer(int socket) {
  DLBridgeIpcImportSpec from = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  from.buffer = bytes, from.fds = rights.fds, from.buffer_size = carry(socket, 0, &from.fd_count);
  DLManagedTensorVersioned* tensor = NULL;
  if (dlbridge_ipc_import(&from, &tensor, &error) != DLBRIDGE_OK) return failed();
  for (size_t i = 0; i < from.fd_count; ++i) close(rights.fds[i]);
  printf("the other process reads %g\n", (double)((const float*)tensor->dl_tensor.data)[2]);
  dlbridge_release_versioned(tensor);
  return 0;
}

static int producer(int socket) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.shape = (const int64_t[]){3}, spec.ndim = 1, spec.dtype = (DLDataType){kDLFloat, 32, 1};
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE; /* only for memory of the host */
  DLManagedTensorVersioned* tensor = NULL;
  if (dlbridge_allocate(&spec, &tensor, &error) != DLBRIDGE_OK) return failed();
  ((float*)tensor->dl_tensor.data)[2] = 42;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeIpcExportSpec to = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  to.buffer = bytes, to.buffer_size = sizeof bytes, to.fds = rights.fds, to.fd_capacity = 253;
  if (dlbridge_ipc_export(tensor, &to, &sizes, &error) != DLBRIDGE_OK) return failed();
  const int bad = carry(socket, sizes.buffer_size, &sizes.fd_count) == 0;
  for (size_t i = 0; i < sizes.fd_count; ++i) close(rights.fds[i]);
  dlbridge_release_versioned(tensor); /* the importer's memory stays */
  return bad;
}

int main(void) {
  int ends[2], status = 1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return 1;
  const pid_t child = fork();
  close(ends[child != 0]); /* so that each end is closed with its process */
  if (child == 0) return consumer(ends[1]);
  const int bad = producer(ends[0]) | close(ends[0]);
  return child < 0 || waitpid(child, &status, 0) < 0 || bad || status != 0;
}
