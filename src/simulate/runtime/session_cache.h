#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "quant/kernels/fake_quant.h"
#include "simulate/runtime/session.h"

namespace bitsweep::simulate {

/// What a session is made of.
struct SessionRecipe {
  graph::Piece piece;
  SessionOptions options;
  /// The grids of its quantized weights. Once one of them is gone, nobody can ask for the session
  /// again.
  std::vector<std::weak_ptr<const FakeQuantPlan>> weight_grids;
};

/// Sessions by key, least recently used first out when their size passes the capacity, with what
/// those need that are being made. What nobody can ask for again goes before one is made.
/// Thread-safe: different keys are built at the same time as far as the capacity goes, one key is
/// built once. A session in use survives its eviction.
class SessionCache {
 public:
  using Builder = std::function<SessionRecipe()>;

  void set_capacity(std::size_t bytes);
  std::size_t capacity() const;
  std::shared_ptr<const Session> get(const std::string& key, const Builder& build);
  void erase_beginning_with(const std::string& key);
  std::size_t size_bytes() const;

 private:
  struct Entry {
    std::mutex building;
    std::shared_ptr<const Session> session;
    std::vector<std::weak_ptr<const FakeQuantPlan>> weight_grids;
    std::list<std::string>::iterator place;
  };

  using Entries = std::map<std::string, std::shared_ptr<Entry>>;
  using Wanted = std::function<bool(const std::string& key, const Entry& entry)>;

  std::shared_ptr<const Session> make(SessionRecipe recipe);
  /// Waits until what is being made leaves that much room.
  void begin_making(std::size_t need);
  void end_making(std::size_t need);
  void evict_locked();
  void erase_outdated();
  /// Those that are being built stay.
  void erase_if(const Wanted& wanted);
  Entries::iterator erase_locked(Entries::iterator entry);

  mutable std::mutex mutex_;
  std::size_t capacity_ = std::size_t{8} << 30;
  std::size_t size_ = 0;
  std::size_t in_making_ = 0;
  std::condition_variable made_;
  std::list<std::string> recent_;  // front: used last
  Entries entries_;
};

}  // namespace bitsweep::simulate
