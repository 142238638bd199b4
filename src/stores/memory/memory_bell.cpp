#include "stores/memory/memory_bell.h"

#include <boost/thread/lock_guard.hpp>

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

std::shared_ptr<void> MemoryBell::listen(std::string_view process, Line::Rung rung) {
  auto listener = std::make_shared<Listener>(Listener{std::string(process), std::move(rung)});
  const Guard guard(mutex_);
  std::erase_if(listeners_, [](const auto& known) { return known.expired(); });
  listeners_.push_back(listener);
  return listener;
}

void MemoryBell::ring(std::string_view name, const std::vector<std::string>& processes) {
  for (const auto& listener : of(processes)) listener->rung(name);
}

std::vector<std::shared_ptr<MemoryBell::Listener>> MemoryBell::of(
    const std::vector<std::string>& processes) {
  std::vector<std::shared_ptr<Listener>> found;
  const Guard guard(mutex_);
  for (const std::string& process : processes) {
    for (const auto& known : listeners_) {
      auto listener = known.lock();
      if (listener && listener->process == process) found.push_back(std::move(listener));
    }
  }
  return found;
}

}  // namespace distlock
