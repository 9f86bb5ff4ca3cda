// Data sets that are read from files: the tests write files to a temporary folder, damage them in
// every way, and read them.

#include <algorithm>
#include <iostream>

#include "catch.hpp"
#include "data/files.hpp"
#include "data/sets/cifar.hpp"
#include "data/sets/idx.hpp"
#include "data/support.hpp"
#include "data/zip.hpp"

using namespace dbench;
using data::Images;
using test::Bytes;
using test::data_spec;
using test::Folder;
using test::refusal;

namespace {

const std::string kCifar = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";
const std::string kFashion = "https://github.com/zalandoresearch/fashion-mnist";

Bytes cifar_records(int count) {
    Bytes bytes;
    for (int k = 0; k < count; ++k) {
        bytes.push_back(static_cast<uint8_t>(k % 10));
        for (int p = 0; p < 3072; ++p) bytes.push_back(static_cast<uint8_t>(7 * k + p));
    }
    return bytes;
}

Bytes idx(uint32_t magic, std::initializer_list<uint32_t> sizes, size_t content) {
    Bytes bytes;
    const auto add = [&](uint32_t value) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes.push_back(static_cast<uint8_t>(value >> shift));
        }
    };
    add(magic);
    for (const uint32_t size : sizes) add(size);
    for (size_t k = 0; k < content; ++k) bytes.push_back(static_cast<uint8_t>(k % 10));
    return bytes;
}

Bytes idx_images(uint32_t count) { return idx(0x803, {count, 28, 28}, size_t{count} * 784); }
Bytes idx_labels(uint32_t count) { return idx(0x801, {count}, count); }

std::string refused_spec(const std::string& type, const std::string& root) {
    const auto spec = data_spec(R"({"type": ")" + type + R"(", "root": ")" + root + "\"}");
    return refusal([&] { data::load_data(spec, {1, 1}); });
}

}  // namespace

TEST_CASE("a CIFAR-10 record consists of a label and three planes") {
    const Folder folder;
    test::write_file(folder / "x.bin", cifar_records(4));
    Images images;
    data::append_cifar(folder / "x.bin", data::kCifar10, 4, images);
    data::append_cifar(folder / "x.bin", data::kCifar10, 4, images);
    CHECK(images.count() == 8);
    CHECK(images.channels == 3);
    CHECK(images.labels[7] == 3);
    CHECK(images.pixels.size() == 8 * 3072);
    CHECK(images.pixels[5 * 3072 + 100] == (7 + 100));
}

TEST_CASE("damaged CIFAR-10 files are refused") {
    const Folder folder;
    const std::string path = folder / "x.bin";
    const auto refused = [&](const Bytes& bytes) {
        test::write_file(path, bytes);
        Images images;
        return refusal([&] { data::append_cifar(path, data::kCifar10, 4, images); });
    };
    const std::string again = ": get it again from " + kCifar;
    Bytes bytes = cifar_records(4);
    bytes.pop_back();
    CHECK(refused(bytes) == path + ": is too short (found 12291 bytes, expected 12292, " +
                                "4 records of 3073)" + again);
    CHECK(refused({}) ==
          path + ": is too short (found 0 bytes, expected 12292, " + "4 records of 3073)" + again);
    CHECK(refused(cifar_records(6)) == path + ": is too long (found 18438 bytes, expected 12292, " +
                                           "4 records of 3073)" + again);
    bytes = cifar_records(4);
    bytes[2 * 3073] = 10;
    CHECK(refused(bytes) == path + ": record 2 has label 10 (labels are 0 to 9; the file is " +
                                "damaged or is a different one)" + again);
    Images images;
    CHECK(refusal([&] { data::append_cifar(folder / "none", data::kCifar10, 4, images); }) ==
          folder / "none: cannot be read (No such file or directory): check the file and its "
                   "permissions, or get it again from " +
              kCifar);
    CHECK(refusal([&] {
              data::append_cifar(folder.path(), data::kCifar10, 4, images);
          }).starts_with(folder.path() + ": cannot be read (it is a folder)"));
}

TEST_CASE("cifar10 is found in its folder or in the root, and only if all files exist") {
    const Folder folder;
    const std::string inner = GENERATE("cifar-10-batches-bin/", "");
    CHECK(refused_spec("cifar10", folder.path()) ==
          "/data/root: CIFAR-10 was not found (no cifar-10-batches-bin in " + folder.path() +
              "): unpack " + kCifar + " there, or name the folder that holds cifar-10-batches-bin");
    for (int k = 1; k <= 5; ++k) {
        test::write_zeros(folder / (inner + "data_batch_" + std::to_string(k) + ".bin"), 30730000);
    }
    CHECK(refused_spec("cifar10", folder.path()).find("test_batch.bin is missing (plain or .gz)") !=
          std::string::npos);
    test::write_zeros(folder / (inner + "test_batch.bin"), 30729999);
    CHECK(refused_spec("cifar10", folder.path()) ==
          folder / (inner + "test_batch.bin: is too short (found 30729999 bytes, expected "
                            "30730000, 10000 records of 3073): get it again from ") +
              kCifar);
    test::write_zeros(folder / (inner + "test_batch.bin"), 30730000);
    std::filesystem::remove(folder / (inner + "data_batch_2.bin"));
    test::write_gz(folder / (inner + "data_batch_2.bin.gz"), Bytes(30730000));
    const test::Environment environment("DBENCH_DATA", folder.path().c_str());
    const auto sets = data::load_data(data_spec(R"("cifar10")"), {1, 1});
    CHECK(sets.train->size() == 50000);
    CHECK(sets.test->size() == 10000);
    REQUIRE(sets.digests.size() == 6);
    CHECK(sets.digests.front().name == "data_batch_1.bin");
    CHECK(sets.digests[1].name == "data_batch_2.bin");
    CHECK(sets.digests[0].digest == sets.digests[1].digest);
    CHECK(sets.digests[0].digest == sets.digests[5].digest);
    CHECK(test::input_of(*sets.test, 0)[0] == Catch::Approx(-0.4914 / 0.2470));
}

TEST_CASE("a CIFAR-100 record has a coarse and a fine label, of which the spec chooses one") {
    const Folder folder;
    Bytes bytes;
    for (const auto& [coarse, fine] : {std::pair{3, 99}, {19, 0}}) {
        bytes.push_back(static_cast<uint8_t>(coarse));
        bytes.push_back(static_cast<uint8_t>(fine));
        for (int p = 0; p < 3072; ++p) bytes.push_back(static_cast<uint8_t>(fine + p));
    }
    const std::string path = folder / "x.bin";
    const auto read = [&](const data::CifarRecord& record, Images& images) {
        test::write_file(path, bytes);
        data::append_cifar(path, record, 2, images);
    };
    Images fine, coarse;
    read(data::kCifar100, fine);
    read(data::kCifar100Coarse, coarse);
    CHECK(fine.labels == std::vector<uint16_t>{99, 0});
    CHECK(coarse.labels == std::vector<uint16_t>{3, 19});
    CHECK(fine.pixels == coarse.pixels);
    CHECK(fine.pixels[3072 + 5] == 5);
    bytes[1] = 100;
    CHECK(refusal([&] {
              read(data::kCifar100, fine);
          }).starts_with(path + ": record 0 has label 100 (labels are 0 to 99;"));
    bytes[3074] = 20;
    CHECK(refusal([&] {
              read(data::kCifar100Coarse, coarse);
          }).starts_with(path + ": record 1 has label 20 (labels are 0 to 19;"));
    bytes.pop_back();
    CHECK(refusal([&] {
              read(data::kCifar100, fine);
          }).starts_with(path + ": is too short (found 6147 bytes, expected 6148, 2 records"));
}

TEST_CASE("cifar100 is read from its two files, with 100 or 20 classes") {
    const Folder folder;
    CHECK(refused_spec("cifar100", folder.path())
              .starts_with("/data/root: CIFAR-100 was not found (no cifar-100-binary in "));
    test::write_zeros(folder / "cifar-100-binary/train.bin", 50000 * 3074);
    test::write_zeros(folder / "cifar-100-binary/test.bin", 10000 * 3074);
    const test::Environment environment("DBENCH_DATA", folder.path().c_str());
    const auto sets = data::load_data(data_spec(R"("cifar100")"), {1, 1});
    CHECK(sets.train->size() == 50000);
    CHECK(sets.test->size() == 10000);
    CHECK(sets.test->classes() == 100);
    CHECK(sets.digests.size() == 2);
    CHECK(test::input_of(*sets.test, 0)[0] == Catch::Approx(-0.5071 / 0.2673));
    const auto coarse = data_spec(R"({"type": "cifar100", "labels": "coarse"})");
    CHECK(data::load_data(coarse, {1, 1}).test->classes() == 20);
}

TEST_CASE("if no root is set, the error names the variable and the key") {
    const test::Environment environment("DBENCH_DATA", nullptr);
    CHECK(
        refusal([] {
            data::load_data(data_spec(R"("cifar10")"), {1, 1});
        }) ==
        "/data/root: is not set (nor is the environment variable DBENCH_DATA): set one of them to "
        "the folder that holds cifar-10-batches-bin; the files are at " +
            kCifar);
    CHECK(refusal([] {
              data::load_data(data_spec(R"("fashion_mnist")"), {1, 1});
          }).find("the folder that holds fashion-mnist") != std::string::npos);
}

TEST_CASE("IDX files give the same images plain and compressed") {
    const Folder folder;
    test::write_file(folder / "images", idx_images(30));
    test::write_file(folder / "labels", idx_labels(30));
    test::write_gz(folder / "images.gz", idx_images(30));
    test::write_gz(folder / "labels.gz", idx_labels(30));
    std::string plain_digests[2], gz_digests[2];
    const Images plain =
        data::read_idx({folder / "images", folder / "labels", ""}, 30, plain_digests);
    const Images gz =
        data::read_idx({folder / "images.gz", folder / "labels.gz", ""}, 30, gz_digests);
    CHECK(plain.count() == 30);
    CHECK(plain.labels[29] == 9);
    CHECK(plain.pixels.size() == 30 * 784);
    CHECK(plain.pixels[13] == 3);
    CHECK(plain.pixels == gz.pixels);
    CHECK(plain.labels == gz.labels);
    CHECK(plain_digests[0] == gz_digests[0]);
    CHECK(plain_digests[1] == gz_digests[1]);
    CHECK(plain_digests[0] != plain_digests[1]);
}

TEST_CASE("damaged IDX files are refused") {
    const Folder folder;
    const std::string images = folder / "images", labels = folder / "labels";
    const auto refused = [&](const Bytes& image_bytes, const Bytes& label_bytes) {
        test::write_file(images, image_bytes);
        test::write_file(labels, label_bytes);
        return refusal([&] { data::read_idx({images, labels, "X"}, 30); });
    };
    CHECK(refused(idx_images(30), idx_labels(30)).empty());
    CHECK(refused(idx_labels(30), idx_labels(30)) ==
          images +
              ": is not an IDX file of images (found magic number 0x00000801, expected "
              "0x00000803): get it again from X");
    CHECK(refused(idx_images(30), idx_images(30)) ==
          labels +
              ": is not an IDX file of labels (found magic number 0x00000803, expected "
              "0x00000801): get it again from X");
    CHECK(refused(idx_images(29), idx_labels(30)) ==
          images + ": holds a wrong number of images (found 29, expected 30): get it again from X");
    CHECK(refused(idx_images(30), idx_labels(31)) ==
          labels + ": holds a wrong number of labels (found 31, expected 30): get it again from X");
    CHECK(refused(idx(0x803, {30, 32, 28}, 0), idx_labels(30)) ==
          images + ": holds images of a wrong height (found 32, expected 28): get it again from X");
    CHECK(refused(idx(0x803, {30, 28, 32}, 0), idx_labels(30)) ==
          images + ": holds images of a wrong width (found 32, expected 28): get it again from X");

    Bytes bytes = idx_images(30);
    bytes.pop_back();
    CHECK(refused(bytes, idx_labels(30)) ==
          images +
              ": is too short (found 23535 bytes, expected 23536, 16 of header and 23520): "
              "get it again from X");
    bytes = idx_labels(30);
    bytes.push_back(0);
    CHECK(refused(idx_images(30), bytes) ==
          labels +
              ": is too long (found 39 bytes, expected 38, 8 of header and 30): "
              "get it again from X");
    CHECK(refused({0, 0, 8}, idx_labels(30)) ==
          images +
              ": is too short (found 3 bytes, expected 23536, 16 of header and 23520): "
              "get it again from X");
    bytes = idx_labels(30);
    bytes[8 + 4] = 200;
    CHECK(refused(idx_images(30), bytes) ==
          labels + ": label 4 is out of range (found 200, expected 0 to 9): get it again from X");
}

TEST_CASE("damaged compressed files are refused") {
    const Folder folder;
    const std::string path = folder / "images.gz";
    const auto refused = [&] { return refusal([&] { data::read_data_file(path, 1000, "X"); }); };
    test::write_gz(path, idx_images(1));
    CHECK(refused().empty());
    const auto packed = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, packed / 2);
    CHECK(refused() == path +
                           ": cannot be read (the compressed file ends too early): check the "
                           "file and its permissions, or get it again from X");
    test::write_gz(path, idx_images(1));
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<long>(packed) - 6).put('\x55').put('\x55');  // In the checksum.
    file.close();
    CHECK(refused().find("incorrect data check") != std::string::npos);
}

TEST_CASE("the error for a large archive of arrays says how to save it") {
    const Folder folder;
    const std::string path = folder / "large.npz";
    test::write_zeros(path, (int64_t{4} << 30) + 1);
    CHECK(refusal([&] { data::Zip file(path); }) ==
          path +
              ": is larger than 4 GiB: save it with numpy.savez_compressed, or in two files, "
              "one for training and one for testing");
}

TEST_CASE("fashion_mnist is found under its usual names") {
    const Folder folder;
    const std::string inner = GENERATE("fashion-mnist/", "FashionMNIST/raw/", "");
    CHECK(refused_spec("fashion_mnist", folder.path()) ==
          "/data/root: Fashion-MNIST was not found (no train-images-idx3-ubyte, plain or .gz, in " +
              folder.path() + " or its folder fashion-mnist): get the four files from " + kFashion);
    test::write_gz(folder / (inner + "train-images-idx3-ubyte.gz"), idx_images(60000));
    test::write_file(folder / (inner + "train-labels.idx1-ubyte"), idx_labels(60000));
    test::write_file(folder / (inner + "t10k-images-idx3-ubyte"), idx_images(10000));
    const std::string missing = refused_spec("fashion_mnist", folder.path());
    CHECK(missing.find("t10k-labels-idx1-ubyte is missing (plain or .gz): get it from " +
                       kFashion) != std::string::npos);
    test::write_file(folder / (inner + "t10k-labels-idx1-ubyte"), idx_labels(10000));
    const auto sets = data::load_data(
        data_spec(R"({"type": "fashion_mnist", "root": ")" + folder.path() + "\"}"), {1, 1});
    CHECK(sets.train->size() == 60000);
    CHECK(sets.test->size() == 10000);
    CHECK(sets.train->shape() == std::vector<int64_t>{1, 28, 28});
    // Compressed and otherwise named files have the names of plain ones.
    CHECK(sets.digests[0].name == "train-images-idx3-ubyte");
    CHECK(sets.digests[0].path.ends_with("train-images-idx3-ubyte.gz"));
    CHECK(sets.digests[1].name == "train-labels-idx1-ubyte");
    for (const auto& each : data::data_status(folder.path())) {
        if (each.name == "fashion_mnist") CHECK(each.present);
    }
    // A test set with the name of the training set is detected.
    test::write_gz(folder / (inner + "train-images-idx3-ubyte.gz"), idx_images(10000));
    CHECK(refused_spec("fashion_mnist", folder.path())
              .find("holds a wrong number of images (found 10000, expected 60000)") !=
          std::string::npos);
}

TEST_CASE("Fashion-MNIST in the place of MNIST is noticed by its labels") {
    const Folder folder;
    test::write_file(folder / "train-images-idx3-ubyte", idx_images(60000));
    test::write_file(folder / "t10k-images-idx3-ubyte", idx_images(10000));
    test::write_file(folder / "t10k-labels-idx1-ubyte", idx_labels(10000));
    const auto warnings = [&](const std::string& type, const Bytes& first) {
        Bytes labels = idx_labels(60000);
        std::copy(first.begin(), first.end(), labels.begin() + 8);
        test::write_file(folder / "train-labels-idx1-ubyte", labels);
        const auto spec = R"({"type": ")" + type + R"(", "root": ")" + folder.path() + "\"}";
        return data::load_data(data_spec(spec), {1, 1}).warnings;
    };
    const Bytes digits{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, clothes{9, 0, 0, 3, 0, 2, 7, 2, 5, 5};
    CHECK(warnings("mnist", digits).empty());
    CHECK(warnings("fashion_mnist", clothes).empty());
    CHECK(warnings("mnist", clothes) ==
          std::vector<std::string>{"/data/type: " + folder.path() +
                                   " holds Fashion-MNIST, as its first labels show, and not MNIST: "
                                   "choose fashion_mnist, or another /data/root"});
    CHECK(warnings("fashion_mnist", digits).size() == 1);
}

TEST_CASE("published data sets have their published statistics") {
    const std::string name = GENERATE("cifar10", "mnist", "fashion_mnist");
    bool present = false;
    for (const auto& each : data::data_status("")) present |= each.name == name && each.present;
    if (!present) {
        std::cout << "skipped: " << name << " is not in $DBENCH_DATA\n";
        return;
    }
    const auto sets = data::load_data(data_spec('"' + name + '"'), {1, 1});
    CHECK(sets.train->size() == (name == "cifar10" ? 50000 : 60000));
    double sum = 0, squares = 0, count = 0;
    std::vector<int> labels(10);
    for (int64_t k = 0; k < sets.train->size(); k += 10) {
        ++labels.at(sets.train->label(k));
        for (const double value : test::input_of(*sets.train, k)) {
            sum += value;
            squares += value * value;
            ++count;
        }
    }
    // From every tenth image only.
    CHECK(std::abs(sum / count) < 0.02);
    CHECK(std::abs(std::sqrt(squares / count) - 1) < 0.02);
    for (const int each : labels) CHECK(each > 350);
}

TEST_CASE("a file that is far too long is refused before it is read") {
    const test::Folder folder;
    test::write_zeros(folder / "long", int64_t{64} << 30);
    const data::DataFile file = data::read_data_file(folder / "long", int64_t{1} << 31, "nowhere");
    CHECK(file.size == int64_t{64} << 30);
    CHECK(file.bytes.size() < 10000);
}
