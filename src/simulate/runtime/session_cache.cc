#include "simulate/runtime/session_cache.h"

#include <algorithm>
#include <utility>

namespace bitsweep::simulate {

void SessionCache::set_capacity(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
  evict_locked();
}

std::size_t SessionCache::capacity() const {
  const std::lock_guard lock(mutex_);
  return capacity_;
}

std::shared_ptr<const Session> SessionCache::get(const std::string& key, const Builder& build) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = entries_[key];
    if (slot == nullptr) {
      slot = std::make_shared<Entry>();
      recent_.push_front(key);
      slot->place = recent_.begin();
    } else {
      recent_.splice(recent_.begin(), recent_, slot->place);
    }
    entry = slot;
  }
  const std::lock_guard building(entry->building);
  if (entry->session == nullptr) {
    std::shared_ptr<const Session> session;
    std::vector<std::weak_ptr<const FakeQuantPlan>> weight_grids;
    try {
      erase_outdated();
      SessionRecipe recipe = build();
      weight_grids = std::move(recipe.weight_grids);
      session = make(std::move(recipe));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (const auto it = entries_.find(key); it != entries_.end() && it->second == entry) {
        recent_.erase(entry->place);
        entries_.erase(it);
      }
      throw;
    }
    const std::lock_guard lock(mutex_);
    entry->session = session;
    entry->weight_grids = std::move(weight_grids);
    if (const auto it = entries_.find(key); it != entries_.end() && it->second == entry) {
      size_ += session->size_bytes();
      evict_locked();
    }
    return session;
  }
  return entry->session;
}

std::shared_ptr<const Session> SessionCache::make(SessionRecipe recipe) {
  // Measured: the runtime holds every weight about twice while it lays them out.
  const std::size_t need = 2 * Session::size_of(recipe.piece, recipe.options);
  begin_making(need);
  try {
    auto session = std::make_shared<const Session>(std::move(recipe.piece), recipe.options);
    end_making(need);
    return session;
  } catch (...) {
    end_making(need);
    throw;
  }
}

void SessionCache::begin_making(std::size_t need) {
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return in_making_ == 0 || in_making_ + need <= capacity_; });
  in_making_ += need;
  evict_locked();
}

void SessionCache::end_making(std::size_t need) {
  const std::lock_guard lock(mutex_);
  in_making_ -= need;
  made_.notify_all();
}

void SessionCache::evict_locked() {
  // The newest entry stays even when it alone is over the capacity: the work must go on.
  auto it = recent_.end();
  while (size_ + in_making_ > capacity_ && it != recent_.begin()) {
    --it;
    if (it == recent_.begin()) break;
    const auto found = entries_.find(*it);
    if (found->second->session == nullptr) continue;  // being built
    ++it;
    erase_locked(found);
  }
}

SessionCache::Entries::iterator SessionCache::erase_locked(Entries::iterator entry) {
  size_ -= entry->second->session->size_bytes();
  recent_.erase(entry->second->place);
  return entries_.erase(entry);
}

void SessionCache::erase_if(const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const bool is_built = it->second->session != nullptr;
    it = is_built && wanted(it->first, *it->second) ? erase_locked(it) : std::next(it);
  }
}

void SessionCache::erase_outdated() {
  erase_if([](const std::string&, const Entry& entry) {
    return std::ranges::any_of(entry.weight_grids, [](const auto& grid) { return grid.expired(); });
  });
}

void SessionCache::erase_beginning_with(const std::string& key) {
  erase_if([&](const std::string& present, const Entry&) { return present.starts_with(key); });
}

std::size_t SessionCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace bitsweep::simulate
