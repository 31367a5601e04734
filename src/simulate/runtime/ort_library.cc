#include "simulate/runtime/ort_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "bitsweep/error.h"
#include "simulate/runtime/runtime_version.h"

namespace {

const OrtApiBase* g_api_base = nullptr;

}  // namespace

// Inline functions of the header call this symbol. It must not resolve to another copy of the
// runtime in the process, so it is ours, hidden, and answers with the opened library.
extern "C" __attribute__((visibility("hidden"))) const OrtApiBase* ORT_API_CALL OrtGetApiBase(void)
    NO_EXCEPTION {
  return g_api_base;
}

namespace bitsweep::simulate {
namespace {

namespace fs = std::filesystem;

std::mutex g_mutex;
fs::path g_library_path;
int g_pool_threads = 0;

fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&open_ort_library), &info) == 0 ||
      info.dli_fname == nullptr)
    return {};
  std::error_code ignored;
  return fs::weakly_canonical(info.dli_fname, ignored).parent_path();
}

// Files named libonnxruntime.so* in a folder; wheels carry the full version in the name and no
// link.
void add_folder(const fs::path& folder, std::vector<fs::path>* candidates) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libonnxruntime.so", 0) == 0) found.push_back(entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  candidates->insert(candidates->end(), found.begin(), found.end());
}

void add_site_packages(const fs::path& root, std::vector<fs::path>* candidates) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "lib", error)) {
    if (entry.path().filename().string().rfind("python", 0) == 0) {
      add_folder(entry.path() / "site-packages" / "onnxruntime" / "capi", candidates);
    }
  }
}

std::vector<fs::path> candidate_libraries(const fs::path& preferred) {
  if (!preferred.empty()) return {preferred};
  std::vector<fs::path> candidates;
  if (const char* path = std::getenv("BITSWEEP_ORT_LIB"); path != nullptr && *path != '\0')
    return {fs::path(path)};
  // In a wheel we are site-packages/bitsweep/_core.so or site-packages/bitsweep/bin/bitsweep.
  const fs::path own = own_folder();
  for (const fs::path& up : {own.parent_path(), own.parent_path().parent_path()}) {
    add_folder(up / "onnxruntime" / "capi", &candidates);
  }
  if (const char* root = std::getenv("ONNXRUNTIME_ROOT"); root != nullptr)
    add_folder(fs::path(root) / "lib", &candidates);
  if (const char* root = std::getenv("VIRTUAL_ENV"); root != nullptr)
    add_site_packages(root, &candidates);
  candidates.emplace_back("libonnxruntime.so.1");
  candidates.emplace_back("libonnxruntime.so");
  return candidates;
}

// Opens one library; returns why not on failure.
std::optional<std::string> try_open(const fs::path& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::string(dlerror());
  using GetApiBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) return "no function OrtGetApiBase in it";
  const OrtApiBase* base = get_base();
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    return std::string("version ") + base->GetVersionString() + " is too old, 1." +
           std::to_string(ORT_API_VERSION) + " or later is needed";
  }
  g_api_base = base;
  Ort::InitApi(api);
  Dl_info info{};
  g_library_path =
      dladdr(reinterpret_cast<const void*>(get_base), &info) != 0 ? fs::path(info.dli_fname) : path;
  return std::nullopt;
}

}  // namespace

void open_ort_library(const fs::path& preferred) {
  const std::lock_guard lock(g_mutex);
  if (g_api_base != nullptr) return;
  std::string tried;
  for (const fs::path& path : candidate_libraries(preferred)) {
    const std::optional<std::string> reason = try_open(path);
    if (!reason) return;
    tried += (tried.empty() ? "" : ", ") + path.string() + " (" + *reason + ")";
  }
  throw Error(
      ErrorCode::kRuntime, "simulate", "ONNX Runtime could not be opened; tried " + tried,
      "run 'pip install \"onnxruntime>=1.21\"', or set BITSWEEP_ORT_LIB to a libonnxruntime.so");
}

const fs::path& ort_library_path() { return g_library_path; }

Ort::Env& ort_environment(int pool_threads) {
  static const auto environment = [pool_threads] {
    Ort::ThreadingOptions threading;
    threading.SetGlobalIntraOpNumThreads(pool_threads);
    threading.SetGlobalInterOpNumThreads(1);
    // Idle threads wait for work actively for a moment, as in a plain session: a quantizer takes a
    // few microseconds, waking a thread takes more. States that run side by side do not use these
    // threads.
    threading.SetGlobalSpinControl(1);
    g_pool_threads = pool_threads;
    auto* env = new Ort::Env(threading, ORT_LOGGING_LEVEL_FATAL, "bitsweep");
    // One arena for every session: dozens of sessions with an arena each would keep dozens of
    // peaks.
    const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    env->CreateAndRegisterAllocator(memory, nullptr);
    return env;  // never destroyed: sessions of static objects may outlive any order of destruction
  }();
  return *environment;
}

int ort_pool_threads() { return g_pool_threads; }

std::string runtime_version() { return g_api_base->GetVersionString(); }

}  // namespace bitsweep::simulate
