#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/error.h"
#include "quant/kernels/fake_quant.h"

namespace bitsweep::kernels {

extern const KernelTable kReferenceKernels;
#ifdef BITSWEEP_HAVE_sse2
namespace sse2 {
extern const KernelTable kTable;
}
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
#else
namespace generic {
extern const KernelTable kTable;
}
#endif

namespace {

const std::vector<const KernelTable*>& tables() {
  static const std::vector<const KernelTable*> list = [] {
    std::vector<const KernelTable*> found = {&kReferenceKernels};
#ifdef BITSWEEP_HAVE_sse2
    found.push_back(&sse2::kTable);
    if (__builtin_cpu_supports("x86-64-v3")) found.push_back(&avx2::kTable);
    if (__builtin_cpu_supports("x86-64-v4")) found.push_back(&avx512::kTable);
#else
    found.push_back(&generic::kTable);
#endif
    return found;
  }();
  return list;
}

const KernelTable& pick() {
  const char* forced = std::getenv("BITSWEEP_FORCE_ISA");
  if (forced == nullptr || *forced == '\0') return *tables().back();
  std::string known;
  for (const KernelTable* table : tables()) {
    if (std::string_view(table->name) == forced) return *table;
    known += known.empty() ? table->name : std::string(", ") + table->name;
  }
  throw Error(ErrorCode::kInvalidArgument, "kernels",
              "this CPU has no instruction set \"" + std::string(forced) +
                  "\" that BITSWEEP_FORCE_ISA asks for",
              "use one of: " + known + ", or unset the variable");
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable& best = pick();
  return best;
}

const KernelTable* const* available_kernels(std::size_t* count) {
  *count = tables().size();
  return tables().data();
}

}  // namespace bitsweep::kernels
