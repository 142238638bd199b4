#include "cli/table.h"

#include <catch2/catch.hpp>
#include <sstream>

using namespace distlock::cli;

TEST_CASE("columns are as wide as their widest text in letters, not bytes", "[cli][table]") {
  std::ostringstream out;
  print_table(out, {{{"NAME"}, {"WHY"}}, {{"übung"}, {"x"}}, {{"a"}, {"y"}}}, false);
  CHECK(out.str() == "NAME   WHY\nübung  x\na      y\n");
}

TEST_CASE("colour goes around a cell and does not widen it", "[cli][table]") {
  std::ostringstream out;
  print_table(out, {{{"a", Look::dim}, {"b"}}, {{"aa"}, {"b"}}}, true);
  CHECK(out.str() == "\033[2ma\033[0m   b\naa  b\n");
}
