// Files of images in the IDX format, plain or compressed: the first byte says how much of the rest
// is the images' file, in 255ths.

#include "data/sets/idx.hpp"
#include "fuzz.hpp"

namespace dbench::fuzz {

const char* const kWords[] = {"\x1f\x8b\x08", "\xff\xff\xff\xff", "\x08\x03",
                              "\x08\x01",     "\x7f\xff\xff\xff", nullptr};

void read(const std::string& input) {
    if (input.empty()) return;
    const std::string rest = input.substr(1);
    const size_t share = rest.size() * static_cast<unsigned char>(input[0]) / 255;
    const std::string images = in_file(rest.substr(0, share), "images.gz");
    const std::string labels = in_file(rest.substr(share), "labels.gz");
    static_cast<void>(data::read_idx({images, labels, "a test"}, 4));
}

}  // namespace dbench::fuzz
