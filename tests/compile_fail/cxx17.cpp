// Compiled as C++17, which the headers refuse.
#include "distlock/distributed_lock.h"
