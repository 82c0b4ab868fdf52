// SPDX-License-Identifier: Apache-2.0
// Finds the context table of the process: the one that the first loaded object exports. That object
// is then kept loaded.
//
// This file reads the symbol tables of the objects itself; docs/context-table.md, "Decisions",
// explains why the loader's functions are not sufficient.
#include <atomic>
#include <cstring>

#include "native/table.h"
#include "protocol/module.h"

#ifdef __linux__
#include <elf.h>
#include <link.h>
#endif

namespace dlbridge {
namespace {

// A table, and an address in the object that exports it.
struct FoundTable {
  const DLBridgeContextTable* table;
  const void* inside;
};

#ifdef __linux__

constexpr char kSymbol[] = "dlbridge_context_table_v1";

// The size in the first version, which has all of the members below.
constexpr uint32_t kFirstTableSize = 56;

bool IsTable(const DLBridgeContextTable* table) {
  return table != nullptr && table->struct_size >= kFirstTableSize && table->version == 1 &&
         table->add != nullptr && table->find != nullptr && table->next != nullptr &&
         table->retain != nullptr && table->release != nullptr && table->remove != nullptr;
}

// A loaded object. Reads only inside its segments.
class Object {
 public:
  explicit Object(const dl_phdr_info& info) : info_(info) {}

  // Are `size` bytes inside one segment that has these flags?
  bool Holds(uintptr_t address, uint64_t size, uint32_t flags) const {
    for (uint32_t i = 0; i < info_.dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info_.dlpi_phdr[i];
      const uintptr_t offset = address - (info_.dlpi_addr + segment.p_vaddr);
      if (segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags &&
          offset <= segment.p_memsz && size <= segment.p_memsz - offset) {
        return true;
      }
    }
    return false;
  }

  // `count` objects at an address, or NULL if they are not readable.
  template <class T>
  const T* At(uintptr_t address, uint64_t count = 1) const {
    return address % alignof(T) == 0 && count <= UINT32_MAX &&
                   Holds(address, count * sizeof(T), PF_R)
               ? reinterpret_cast<const T*>(address)
               : nullptr;
  }

  // A pointer of the dynamic section, which some loaders relocate and others do not; 0 if it is
  // invalid either way.
  uintptr_t Place(uintptr_t pointer) const {
    if (At<char>(pointer) != nullptr) {
      return pointer;
    }
    return At<char>(info_.dlpi_addr + pointer) != nullptr ? info_.dlpi_addr + pointer : 0;
  }

  uintptr_t base() const { return info_.dlpi_addr; }

  const ElfW(Phdr) * Dynamic() const {
    for (uint32_t i = 0; i < info_.dlpi_phnum; ++i) {
      if (info_.dlpi_phdr[i].p_type == PT_DYNAMIC) {
        return info_.dlpi_phdr + i;
      }
    }
    return nullptr;
  }

 private:
  const dl_phdr_info& info_;
};

// The symbol tables of an object; 0 for a table that it does not have.
struct Symbols {
  uintptr_t symbols;
  uintptr_t names;
  uint64_t names_size;
  uintptr_t gnu_hash;
  uintptr_t hash;
};

void Note(const Object& object, const ElfW(Dyn) & entry, Symbols* out) {
  switch (entry.d_tag) {
    case DT_SYMTAB:
      out->symbols = object.Place(entry.d_un.d_ptr);
      break;
    case DT_STRTAB:
      out->names = object.Place(entry.d_un.d_ptr);
      break;
    case DT_STRSZ:
      out->names_size = entry.d_un.d_val;
      break;
    case DT_GNU_HASH:
      out->gnu_hash = object.Place(entry.d_un.d_ptr);
      break;
    case DT_HASH:
      out->hash = object.Place(entry.d_un.d_ptr);
      break;
    default:
      break;
  }
}

Symbols ReadDynamic(const Object& object) {
  Symbols out = {0, 0, 0, 0, 0};
  const ElfW(Phdr)* dynamic = object.Dynamic();
  if (dynamic == nullptr) {
    return out;
  }
  const uint64_t count = dynamic->p_memsz / sizeof(ElfW(Dyn));
  const auto* entries = object.At<ElfW(Dyn)>(object.base() + dynamic->p_vaddr, count);
  for (uint64_t i = 0; entries != nullptr && i < count && entries[i].d_tag != DT_NULL; ++i) {
    Note(object, entries[i], &out);
  }
  return out;
}

bool HasName(const Object& object, const Symbols& table, const ElfW(Sym) & symbol) {
  if (symbol.st_name > table.names_size || table.names_size - symbol.st_name < sizeof kSymbol) {
    return false;
  }
  const char* name = object.At<char>(table.names + symbol.st_name, sizeof kSymbol);
  return name != nullptr && std::memcmp(name, kSymbol, sizeof kSymbol) == 0;
}

// The address of the function if the symbol of that index defines it in this object, else 0.
uintptr_t Definition(const Object& object, const Symbols& table, uint32_t number) {
  const auto* symbol = object.At<ElfW(Sym)>(table.symbols + uint64_t{number} * sizeof(ElfW(Sym)));
  if (symbol == nullptr || symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 0xf) != STT_FUNC ||
      !HasName(object, table, *symbol)) {
    return 0;
  }
  const uintptr_t address = object.base() + symbol->st_value;
  return object.Holds(address, 1, PF_X) ? address : 0;
}

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) {
    hash = hash * 33 + static_cast<unsigned char>(*name);
  }
  return hash;
}

uintptr_t FindByGnuHash(const Object& object, const Symbols& table) {
  const auto* head = object.At<uint32_t>(table.gnu_hash, 4);
  if (head == nullptr || head[0] == 0) {
    return 0;
  }
  const uint32_t hash = GnuHash(kSymbol);
  const uintptr_t buckets = table.gnu_hash + 16 + uint64_t{head[2]} * sizeof(ElfW(Addr));
  const uintptr_t chains = buckets + uint64_t{head[0]} * 4;
  const auto* bucket = object.At<uint32_t>(buckets + uint64_t{hash % head[0]} * 4);
  if (bucket == nullptr || *bucket < head[1]) {
    return 0;
  }
  for (uint32_t number = *bucket;; ++number) {
    const auto* link = object.At<uint32_t>(chains + uint64_t{number - head[1]} * 4);
    if (link == nullptr) {
      return 0;
    }
    const uintptr_t found = (*link | 1) == (hash | 1) ? Definition(object, table, number) : 0;
    if (found != 0 || (*link & 1) != 0) {
      return found;
    }
  }
}

uint32_t OldHash(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

uintptr_t FindByHash(const Object& object, const Symbols& table) {
  const auto* head = object.At<uint32_t>(table.hash, 2);
  const auto* all =
      head != nullptr ? object.At<uint32_t>(table.hash, uint64_t{2} + head[0] + head[1]) : nullptr;
  if (all == nullptr || head[0] == 0) {
    return 0;
  }
  const uint32_t* chains = all + 2 + head[0];
  uint32_t number = all[2 + OldHash(kSymbol) % head[0]];
  // At most as many steps as there are symbols, since a corrupt chain may be a cycle.
  for (uint32_t i = 0; i < head[1] && number != 0 && number < head[1]; ++i) {
    const uintptr_t found = Definition(object, table, number);
    if (found != 0) {
      return found;
    }
    number = chains[number];
  }
  return 0;
}

uintptr_t FindFunction(const Object& object) {
  const Symbols table = ReadDynamic(object);
  if (table.symbols == 0 || table.names == 0) {
    return 0;
  }
  if (table.gnu_hash != 0) {
    return FindByGnuHash(object, table);
  }
  return table.hash != 0 ? FindByHash(object, table) : 0;
}

// The loader's lock keeps the object loaded during the call. The specification requires that the
// function only returns the table.
int TakeFirst(dl_phdr_info* info, size_t /*size*/, void* result) {
  const uintptr_t address = FindFunction(Object(*info));
  if (address == 0) {
    return 0;
  }
  const auto function = reinterpret_cast<const DLBridgeContextTable* (*)()>(address);
  const DLBridgeContextTable* table = function();
  if (!IsTable(table)) {
    return 0;
  }
  *static_cast<FoundTable*>(result) = {table, reinterpret_cast<const void*>(address)};
  return 1;
}

FoundTable FindTable() {
  FoundTable found = {&kOwnTable, &kOwnTable};
  // Objects are visited in the order in which they were loaded.
  dl_iterate_phdr(TakeFirst, static_cast<void*>(&found));
  return found;
}

#else

FoundTable FindTable() { return {&kOwnTable, &kOwnTable}; }

#endif

// Pinning waits for loads and unloads in progress. A table found again after the pin was therefore
// complete throughout.
const DLBridgeContextTable* FindAndPinTable() {
  FoundTable found = FindTable();
  for (;;) {
    // If an object cannot be pinned, the specification requires it to stay loaded by itself.
    PinModule(found.inside, nullptr);
    const FoundTable again = FindTable();
    if (again.table == found.table) {
      return found.table;
    }
    found = again;
  }
}

}  // namespace

std::atomic<const DLBridgeContextTable*> g_shared_table;

const DLBridgeContextTable& FindSharedTable() {
  const DLBridgeContextTable* expected = nullptr;
  const DLBridgeContextTable* found = FindAndPinTable();
  // If two threads search at once, both use the result of the first.
  return g_shared_table.compare_exchange_strong(expected, found, std::memory_order_acq_rel)
             ? *found
             : *expected;
}

}  // namespace dlbridge
