#include "sim/bell.h"

#include "sim/events.h"

namespace distlock::sim {

std::shared_ptr<void> Bell::listen(std::string_view process, Rung rung) {
  std::erase_if(listeners_, [](const auto& known) { return known.expired(); });
  auto listener = std::make_shared<Listener>(Listener{std::string(process), std::move(rung)});
  listeners_.push_back(listener);
  return listener;
}

void Bell::ring(const std::string& process, const std::string& lock, Time delay) {
  scheduler_.at(scheduler_.now() + delay, [this, process, lock] {
    for (const auto& known : listeners_) {
      const auto listener = known.lock();
      if (!listener || listener->process != process) continue;
      count(Event::rung);
      listener->rung(lock);
    }
  });
}

}  // namespace distlock::sim
