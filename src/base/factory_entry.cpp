#include "base/factory_entry.hpp"

namespace dbench::base {

const Section<NoKeys>& NoKeys::section() {
    static const Section<NoKeys> none{};
    return none;
}

}  // namespace dbench::base
