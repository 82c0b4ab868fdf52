/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hooks.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ which call fails */

static pthread_t g_thread;
static atomic_int g_armed;
static int64_t g_nth;
static int g_forever;
static int64_t g_seen;
static int64_t g_failed;
static const char* g_last = "";
static atomic_int_least64_t g_blocks;
static atomic_int_least64_t g_mappings;

/* Only the thread that armed the hooks gets past the first check, so the rest needs no lock. */
static int fails(const char* name, int code) {
  if (!atomic_load(&g_armed) || !pthread_equal(g_thread, pthread_self())) return 0;
  ++g_seen;
  if (g_nth == 0 || g_seen < g_nth || (g_seen > g_nth && !g_forever)) return 0;
  ++g_failed;
  g_last = name;
  errno = code;
  return 1;
}

void faults_arm(int64_t nth, int forever) {
  g_thread = pthread_self();
  g_nth = nth;
  g_forever = forever;
  g_seen = 0;
  g_failed = 0;
  g_last = "";
  atomic_store(&g_armed, 1);
}

int64_t faults_disarm(void) {
  atomic_store(&g_armed, 0);
  return g_failed;
}

int64_t faults_seen(void) { return g_seen; }
const char* faults_last(void) { return g_last; }

void faults_live(FaultsLive* out) {
  out->blocks = atomic_load(&g_blocks);
  out->mappings = atomic_load(&g_mappings);
}

/* ------------------------------------------------------------------------------- the hooks */

static void* counted(void* memory) {
  if (memory != NULL) atomic_fetch_add(&g_blocks, 1);
  return memory;
}

static void* hook_malloc(size_t size) {
  return fails("malloc", ENOMEM) ? NULL : counted(malloc(size));
}
static void* hook_calloc(size_t count, size_t size) {
  return fails("calloc", ENOMEM) ? NULL : counted(calloc(count, size));
}
static void* hook_realloc(void* memory, size_t size) {
  void* moved;
  if (fails("realloc", ENOMEM)) return NULL;
  moved = realloc(memory, size);
  return memory == NULL ? counted(moved) : moved;
}
static int hook_posix_memalign(void** out, size_t alignment, size_t size) {
  int code;
  if (fails("posix_memalign", ENOMEM)) return ENOMEM;
  code = posix_memalign(out, alignment, size);
  if (code == 0) counted(*out);
  return code;
}
static void* hook_aligned_alloc(size_t alignment, size_t size) {
  return fails("aligned_alloc", ENOMEM) ? NULL : counted(aligned_alloc(alignment, size));
}
static void hook_free(void* memory) {
  if (memory != NULL) atomic_fetch_sub(&g_blocks, 1);
  free(memory);
}

static void* hook_mmap(void* address, size_t size, int rights, int flags, int fd, off_t offset) {
  void* mapped;
  if (fails("mmap", ENOMEM)) return MAP_FAILED;
  mapped = mmap(address, size, rights, flags, fd, offset);
  if (mapped != MAP_FAILED) atomic_fetch_add(&g_mappings, 1);
  return mapped;
}
static int hook_munmap(void* address, size_t size) {
  const int code = munmap(address, size);
  if (code == 0) atomic_fetch_sub(&g_mappings, 1);
  return code;
}
static int hook_madvise(void* address, size_t size, int advice) {
  return fails("madvise", ENOMEM) ? -1 : madvise(address, size, advice);
}

/* memfd_create, which old C libraries lack. */
static long hook_syscall(long number, ...) {
  va_list list;
  long a;
  long b;
  long c;
  va_start(list, number);
  a = va_arg(list, long);
  b = va_arg(list, long);
  c = va_arg(list, long);
  va_end(list);
  return fails("syscall", EMFILE) ? -1 : syscall(number, a, b, c);
}
static int hook_open(const char* path, int flags, ...) {
  va_list list;
  int mode;
  va_start(list, flags);
  mode = va_arg(list, int);
  va_end(list);
  return fails("open", EMFILE) ? -1 : open(path, flags, mode);
}
static int hook_fcntl(int fd, int command, ...) {
  va_list list;
  long argument;
  va_start(list, command);
  argument = va_arg(list, long);
  va_end(list);
  return fails("fcntl", EMFILE) ? -1 : fcntl(fd, command, argument);
}
static int hook_fstat(int fd, struct stat* out) {
  return fails("fstat", EIO) ? -1 : fstat(fd, out);
}
static int hook_fstatfs(int fd, struct statfs* out) {
  return fails("fstatfs", EIO) ? -1 : fstatfs(fd, out);
}
static int hook_fchmod(int fd, mode_t mode) { return fails("fchmod", EIO) ? -1 : fchmod(fd, mode); }
static int hook_posix_fallocate(int fd, off_t offset, off_t size) {
  return fails("posix_fallocate", ENOSPC) ? ENOSPC : posix_fallocate(fd, offset, size);
}
static off_t hook_lseek(int fd, off_t offset, int whence) {
  return fails("lseek", ESPIPE) ? -1 : lseek(fd, offset, whence);
}
static int hook_sysinfo(struct sysinfo* out) {
  return fails("sysinfo", EFAULT) ? -1 : sysinfo(out);
}
static int hook_getrlimit(int resource, struct rlimit* out) {
  return fails("getrlimit", EFAULT) ? -1 : getrlimit(resource, out);
}

static void* hook_dlopen(const char* name, int mode) {
  return fails("dlopen", ENOMEM) ? NULL : dlopen(name, mode);
}
static void* hook_dlsym(void* module, const char* name) {
  return fails("dlsym", 0) ? NULL : dlsym(module, name);
}
static int hook_dladdr(const void* address, Dl_info* out) {
  return fails("dladdr", 0) ? 0 : dladdr(address, out);
}
static int hook_dladdr1(const void* address, Dl_info* out, void** extra, int flags) {
  return fails("dladdr1", 0) ? 0 : dladdr1(address, out, extra, flags);
}
static int hook_dlinfo(void* module, int request, void* out) {
  return fails("dlinfo", 0) ? -1 : dlinfo(module, request, out);
}
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void* module);
static int hook_register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                                void* module) {
  return fails("pthread_atfork", ENOMEM) ? ENOMEM
                                         : __register_atfork(prepare, parent, child, module);
}

typedef struct Hook {
  const char* name;
  void (*function)(void);
} Hook;

#define HOOK(name) \
  { #name, (void (*)(void))hook_##name }
#define HOOK_AS(name, function) \
  { name, (void (*)(void))(function) }

static const Hook g_hooks[] = {
    HOOK(malloc),
    HOOK(calloc),
    HOOK(realloc),
    HOOK(posix_memalign),
    HOOK(aligned_alloc),
    HOOK(free),
    HOOK(mmap),
    HOOK_AS("mmap64", hook_mmap),
    HOOK(munmap),
    HOOK(madvise),
    HOOK(syscall),
    HOOK(open),
    HOOK_AS("open64", hook_open),
    HOOK(fcntl),
    HOOK_AS("fcntl64", hook_fcntl),
    HOOK(fstat),
    HOOK_AS("fstat64", hook_fstat),
    HOOK(fstatfs),
    HOOK_AS("fstatfs64", hook_fstatfs),
    HOOK(fchmod),
    HOOK(posix_fallocate),
    HOOK_AS("posix_fallocate64", hook_posix_fallocate),
    HOOK(lseek),
    HOOK_AS("lseek64", hook_lseek),
    HOOK(sysinfo),
    HOOK(getrlimit),
    HOOK_AS("getrlimit64", hook_getrlimit),
    HOOK(dlopen),
    HOOK(dlsym),
    HOOK(dladdr),
    HOOK(dladdr1),
    HOOK(dlinfo),
    HOOK_AS("__register_atfork", hook_register_atfork),
};

static const Hook* find_hook(const char* name) {
  size_t i;
  for (i = 0; i < sizeof g_hooks / sizeof *g_hooks; ++i) {
    if (strcmp(g_hooks[i].name, name) == 0) return &g_hooks[i];
  }
  return NULL;
}

/* --------------------------------------------------------------------- the module's imports */

#if defined(__x86_64__)
enum { kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalData = R_X86_64_GLOB_DAT, kAbsolute = R_X86_64_64 };
#elif defined(__aarch64__)
enum {
  kJumpSlot = R_AARCH64_JUMP_SLOT,
  kGlobalData = R_AARCH64_GLOB_DAT,
  kAbsolute = R_AARCH64_ABS64
};
#else
#error "hooks.c: add the relocations of this processor"
#endif

/* One import: its name, and the entry of the table that holds its address. */
typedef void Visit(void* context, const char* name, void** entry);

typedef struct Search {
  const char* part;
  Visit* visit;
  void* context;
  int found;
} Search;

typedef struct Dynamic {
  const ElfW(Sym) * symbols;
  const char* names;
  const ElfW(Rela) * relocations[2];
  size_t sizes[2];
} Dynamic;

/* The GNU C library has replaced offsets by addresses, in most modules. */
static const void* address_in(const struct dl_phdr_info* info, ElfW(Addr) value) {
  return (const void*)(value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

static void read_dynamic(const struct dl_phdr_info* info, const ElfW(Dyn) * entry, Dynamic* out) {
  memset(out, 0, sizeof *out);
  for (; entry->d_tag != DT_NULL; ++entry) {
    const void* address = address_in(info, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) out->symbols = (const ElfW(Sym)*)address;
    if (entry->d_tag == DT_STRTAB) out->names = (const char*)address;
    if (entry->d_tag == DT_JMPREL) out->relocations[0] = (const ElfW(Rela)*)address;
    if (entry->d_tag == DT_PLTRELSZ) out->sizes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) out->relocations[1] = (const ElfW(Rela)*)address;
    if (entry->d_tag == DT_RELASZ) out->sizes[1] = entry->d_un.d_val;
  }
}

static void visit_relocation(const Search* search, const struct dl_phdr_info* info,
                             const Dynamic* dynamic, const ElfW(Rela) * relocation) {
  const unsigned long type = ELF64_R_TYPE(relocation->r_info);
  const ElfW(Sym)* symbol = &dynamic->symbols[ELF64_R_SYM(relocation->r_info)];
  if (type != kJumpSlot && type != kGlobalData && type != kAbsolute) return;
  if (ELF64_R_SYM(relocation->r_info) == 0 || symbol->st_shndx != SHN_UNDEF) return;
  search->visit(search->context, dynamic->names + symbol->st_name,
                (void**)(info->dlpi_addr + relocation->r_offset));
}

static int visit_module(struct dl_phdr_info* info, size_t size, void* argument) {
  Search* search = (Search*)argument;
  Dynamic dynamic;
  size_t i;
  int table;
  (void)size;
  if (search->part[0] == '\0' ? info->dlpi_name[0] != '\0'
                              : strstr(info->dlpi_name, search->part) == NULL) {
    return 0;
  }
  for (i = 0; info->dlpi_phdr[i].p_type != PT_DYNAMIC; ++i) {
    if (i + 1 == info->dlpi_phnum) return 0;
  }
  read_dynamic(info, (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), &dynamic);
  search->found = 1;
  for (table = 0; table < 2; ++table) {
    for (i = 0; i < dynamic.sizes[table] / sizeof(ElfW(Rela)); ++i) {
      visit_relocation(search, info, &dynamic, &dynamic.relocations[table][i]);
    }
  }
  return 1;
}

/* The table is read-only after loading (RELRO). */
static void replace(void* context, const char* name, void** entry) {
  const Hook* hook = find_hook(name);
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void* start = (void*)((uintptr_t)entry & ~(page - 1));
  if (hook == NULL || mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  memcpy(entry, &hook->function, sizeof *entry);
  ++*(int*)context;
}

int faults_install(const char* part) {
  int hooked = 0;
  Search search = {part, replace, &hooked, 0};
  dl_iterate_phdr(visit_module, &search);
  return hooked;
}

typedef struct Text {
  char* out;
  size_t size;
  size_t length;
} Text;

static void append_unhooked(void* context, const char* name, void** entry) {
  Text* text = (Text*)context;
  const size_t length = strlen(name);
  (void)entry;
  if (find_hook(name) != NULL) return;
  if (text->length + length + 2 <= text->size) {
    memcpy(text->out + text->length, name, length);
    memcpy(text->out + text->length + length, " ", 2);
  }
  text->length += length + 1;
}

size_t faults_unhooked(const char* part, char* out, size_t size) {
  Text text = {out, size, 0};
  Search search = {part, append_unhooked, &text, 0};
  if (size != 0) out[0] = '\0';
  dl_iterate_phdr(visit_module, &search);
  return text.length;
}
