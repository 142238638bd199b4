#pragma once

#include <memory>
#include <string>

#include "contract/differential/generator.h"
#include "distlock/line.h"
#include "support/store_under_test.h"

namespace distlock::testing {

/// One store's part in a comparison: takes steps and says in words what came of them.
class Answering {
 public:
  explicit Answering(std::unique_ptr<StoreUnderTest> under_test);

  /// The result of the call, or its error, without the parts that stores may differ in.
  std::string answer(const Step& step);
  /// All documents as they are now, by another handle than the call's.
  std::string state();

 private:
  std::string claim(const Step& step);
  std::string stand(const Step& step);
  std::string stand_for_malformed(const Step& step);
  std::string release_and_tell(const Step& step);
  std::string after_release(const Step& step, ReleaseResult result);
  std::string inspection(const Step& step);
  std::string put(const Step& step);
  std::string call(const Step& step);
  Claim claim_of(const Step& step, const Token& ts);
  Token ts_for(const Step& step);
  Token ticket_for(const Step& step);
  void leave_a_free_document(const Step& step);

  std::unique_ptr<StoreUnderTest> under_test_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Store> another_;
};

}  // namespace distlock::testing
