#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "simulate/session.h"

namespace bitsweep::simulate {

/// What a session is made of.
struct SessionRecipe {
  graph::Piece piece;
  SessionOptions options;
};

/// Sessions by key, least recently used first out when their size passes the capacity, with what
/// those need that are being made. Thread-safe: different keys are built at the same time, one key
/// is built once. A session in use survives its eviction.
class SessionCache {
 public:
  using Builder = std::function<SessionRecipe()>;

  void set_capacity(std::size_t bytes);
  std::shared_ptr<const Session> get(const std::string& key, const Builder& build);
  void erase_beginning_with(const std::string& key);
  std::size_t size_bytes() const;

 private:
  struct Entry {
    std::mutex building;
    std::shared_ptr<const Session> session;
    std::list<std::string>::iterator place;
  };

  std::shared_ptr<const Session> make(const Builder& build);
  void evict_locked();

  mutable std::mutex mutex_;
  std::size_t capacity_ = std::size_t{8} << 30;
  std::size_t size_ = 0;
  std::size_t in_making_ = 0;
  std::list<std::string> recent_;  // front: used last
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace bitsweep::simulate
