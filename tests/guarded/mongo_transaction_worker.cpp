#include "guarded/mongo_counter.h"
#include "mongo_transaction.h"

namespace distlock::testing {
namespace {

class TransactionCounter : public MongoCounter {
 public:
  using MongoCounter::MongoCounter;

  bool write(std::int64_t value) override {
    const auto change = [&](const guarded::Operation& operation) {
      return set_value(resources_.get(), place_.name, value, operation.session, operation.reply,
                       operation.error);
    };
    return guarded::change_if_held(client_.get(), locks_.get(), hold_, change) ==
           guarded::Outcome::written;
  }
};

}  // namespace

std::unique_ptr<Counter> make_counter(const CounterPlace& place) {
  if (!place.guarded) return std::make_unique<MongoCounter>(place);
  return std::make_unique<TransactionCounter>(place);
}

}  // namespace distlock::testing
