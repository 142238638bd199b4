// usage: expiry_order LABEL CONNECTION EXPIRIES AT_ONCE
//
// Lets so many holds run out and prints when their holders were told and when rivals got the locks:
// a row of the table in docs/benchmarks.md. Exit status 1 if a rival was first.

#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "process/expiry/expiries.h"

int main(int argc, char** argv) try {
  using namespace distlock;
  if (argc != 5) throw std::runtime_error("usage: expiry_order LABEL CONNECTION EXPIRIES AT_ONCE");
  const auto expiries = testing::observe_expiries(ConnectionString(argv[2]), testing::kShortLease,
                                                  std::atoi(argv[3]), std::atoi(argv[4]));
  std::cout << testing::to_row(argv[1], expiries) << std::endl;
  return testing::inversions(expiries) == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "expiry_order: " << error.what() << '\n';
  return 1;
}
