#include <stdexcept>

#include "guarded/mongo_counter.h"
#include "mongo_document.h"

namespace distlock::testing {
namespace {

class DocumentCounter : public MongoCounter {
 public:
  using MongoCounter::MongoCounter;

  void begin(const LockRecord& hold) override {
    stamp_ = {.fence = hold.fence, .ts = hold.ts.value(), .number = 0};
  }

  std::int64_t read() override {
    ++stamp_.number;
    const auto value = guarded::read_value(resources_.get(), place_.name, stamp_);
    if (!value) throw std::runtime_error("the read was refused");
    return *value;
  }

  bool write(std::int64_t value) override {
    ++stamp_.number;
    return guarded::write_value(resources_.get(), place_.name, stamp_, value) ==
           guarded::Outcome::written;
  }

 private:
  guarded::Stamp stamp_;
};

}  // namespace

std::unique_ptr<Counter> make_counter(const CounterPlace& place) {
  if (!place.guarded) return std::make_unique<MongoCounter>(place);
  return std::make_unique<DocumentCounter>(place);
}

}  // namespace distlock::testing
