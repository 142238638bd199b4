#include "cli/table.h"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <string>

using namespace distlock::cli;

TEST_CASE("columns are as wide as their widest text in letters, not bytes", "[cli][table]") {
  std::ostringstream out;
  print_table(out, {{{"NAME"}, {"WHY"}}, {{"übung"}, {"x"}}, {{"a"}, {"y"}}}, false);
  CHECK(out.str() == "NAME   WHY\nübung  x\na      y\n");
}

TEST_CASE("each style of a cell has its own colours", "[cli][table]") {
  std::set<std::string> shown;
  for (const Style look : {Style::plain, Style::heading, Style::dim, Style::good, Style::bad}) {
    CHECK(dressed({"a", look}, false) == "a");
    shown.insert(dressed({"a", look}, true));
  }
  CHECK(shown.size() == 5);
  CHECK(shown.contains("a"));
  CHECK(dressed({"", Style::bad}, true).empty());
}

TEST_CASE("colour goes around a cell and does not widen it", "[cli][table]") {
  std::ostringstream out;
  print_table(out, {{{"a", Style::dim}, {"b"}}, {{"aa"}, {"b"}}}, true);
  CHECK(out.str() == "\033[2ma\033[0m   b\naa  b\n");
}

TEST_CASE("a table that is too wide loses letters of its last column, then of its widest",
          "[cli][table]") {
  const std::vector<Row> rows{{{"a name of 20 letters"}, {"b"}, {"übung macht den Meister"}}};
  const auto texts = [&](std::size_t width) {
    const Row row = fitted(rows, width).front();
    return row[0].text + '|' + row[1].text + '|' + row[2].text;
  };
  CHECK(texts(0) == "a name of 20 letters|b|übung macht den Meister");
  CHECK(texts(48) == texts(0));
  CHECK(texts(47) == "a name of 20 letters|b|übung macht den Meist…");
  CHECK(texts(33) == "a name of 20 letters|b|übung m…");
  CHECK(texts(30) == "a name of 20 let…|b|übung m…");
  CHECK(texts(1) == "a name …|b|übung m…");
}

TEST_CASE("a table that just fits without some columns loses no other", "[cli][table]") {
  const std::vector<Row> rows{{{"NAME"}, {"AGE"}, {"WHY"}}, {{"a"}, {"5s"}, {"x"}}};
  const auto left_out = [&](std::size_t width) {
    return narrowed(rows, width, {"AGE", "WHY"}).left_out;
  };
  CHECK(left_out(14).empty());
  CHECK(left_out(13) == std::vector<std::string>{"AGE"});
  CHECK(left_out(9) == std::vector<std::string>{"AGE"});
  CHECK(left_out(8) == std::vector<std::string>{"AGE", "WHY"});
}
