#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "distlock/error.h"

// Values of wrong types, for the contract of malformed documents.
namespace distlock::testing {

/// The hold of `taken_lock("jobs", "db7", kTheirs)`.
inline const Token kTheirs = *token_from_hex("4d7f000000000000000000aa");

/// A value of each type. A store that cannot tell two types apart stores the nearest.
inline const std::vector<Value> kOneOfEach = {std::int32_t{7},     std::int64_t{7}, 7.5,
                                              std::string("text"), StoreTime{},     new_token(),
                                              Foreign{"an array"}};

enum class Type : std::size_t { int32, int64, real, text, date, object_id, foreign };

struct FieldType {
  std::string field;
  Type type;
};

/// False where the store has no such type, and has stored the nearest.
inline bool kept_its_type(const std::optional<Document>& raw, const std::string& field,
                          const Value& value) {
  const Value* held = raw ? field_of(*raw, field) : nullptr;
  return held != nullptr && held->index() == value.index();
}

/// Makes the lock "jobs" one of that state whose field has in turn each type that is not its own,
/// and checks what comes of it.
template <class Check>
void with_each_wrong_type(StoreUnderTest& under_test, const FieldType& expected, std::int32_t state,
                          const Check& check) {
  int tried = 0;
  for (const Value& value : kOneOfEach) {
    if (value.index() == static_cast<std::size_t>(expected.type)) continue;
    const Document lock = with(taken_lock("jobs", "db7", kTheirs), "state", state);
    under_test.put_lock(with(lock, expected.field, value));
    if (!kept_its_type(under_test.raw_lock("jobs"), expected.field, value)) continue;
    INFO("field " << expected.field << ", state " << state << ", type " << value.index());
    check();
    ++tried;
  }
  CHECK(tried >= 3);
}

/// Checks that `call` is refused with a message that names the field and says that nothing was
/// changed.
template <class Call>
void check_names_field(const std::string& field, const Call& call) {
  try {
    call();
    FAIL_CHECK("the document was accepted");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_record);
    CHECK_THAT(error.what(), Catch::Contains('"' + field + '"'));
    CHECK_THAT(error.what(), Catch::Contains("nothing was changed"));
  }
}

}  // namespace distlock::testing
