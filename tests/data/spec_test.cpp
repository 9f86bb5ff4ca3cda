#include "catch.hpp"
#include "data/support.hpp"

using namespace dbench;
using base::Json;
using test::data_spec;
using test::refusal;

TEST_CASE("a name alone gets all defaults") {
    CHECK(data_spec(R"("cifar10")") == Json::parse(R"({
        "type": "cifar10", "root": null, "batch_size": 32, "accumulate": 1,
        "partition": {"type": "shuffled"}, "validation": 0, "augment": false, "normalize": "standard", "threads": 1,
        "resident": "auto",
        "limit": {"train": null, "test": null}})"));
    CHECK(data_spec(R"("cifar10")").begin().key() == "type");
    CHECK(data_spec(R"({"type": "shapes", "partition": "iid"})").at("partition") ==
          Json::parse(R"({"type": "iid"})"));
}

TEST_CASE("resolving twice changes nothing") {
    for (const auto& row : data::data_table()) {
        Json given = {{"type", row.name}};
        if (row.name == "npz" || row.name == "images")
            given.update({{"train", "a"}, {"test", "b"}});
        if (row.name == "text") given["path"] = "a";
        if (row.name == "pairs") given.update({{"source", "a"}, {"target", "b"}});
        const Json once = data_spec(given.dump());
        CHECK(data::resolve_data(once, "/data") == once);
    }
}

TEST_CASE("every form of batch_size is accepted or refused as documented") {
    for (const char* form : {"1", "64", R"({"global": 512})", R"("full")"}) {
        const auto spec =
            data_spec(std::string(R"({"type": "shapes", "batch_size": )") + form + "}");
        CHECK(spec.at("batch_size") == Json::parse(form));
    }
    const auto refused = [](const std::string& form) {
        return refusal([&] { data_spec(R"({"type": "shapes", "batch_size": )" + form + "}"); });
    };
    const std::string forms =
        "/data/batch_size: must be a whole number, {\"global\": G}, {\"tokens\": T} or \"full\"";
    CHECK(refused("0") == "/data/batch_size: 0 is out of range (must be at least 1)");
    CHECK(refused("2.5") == forms + " (found 2.5)");
    CHECK(refused("\"all\"") == forms + " (found \"all\")");
    CHECK(refused("{\"total\":4}") == forms + " (found {\"total\":4})");
    CHECK(refused("{\"global\":-8}") ==
          "/data/batch_size/global: -8 is out of range (must be at least 1)");
    CHECK(refused("{\"global\":\"8\"}") ==
          "/data/batch_size/global: must be a whole number (found \"8\")");
}

TEST_CASE("every form of normalize is accepted or refused as documented") {
    for (const char* form :
         {R"("standard")", R"("unit")", R"({"mean": [0.5], "deviation": [0.25]})",
          R"({"mean": [0.5, 0.4, 0.3], "deviation": [0.25]})"}) {
        const auto spec =
            data_spec(std::string(R"({"type": "shapes", "normalize": )") + form + "}");
        CHECK(spec.at("normalize") == Json::parse(form));
    }
    const auto refused = [](const std::string& form) {
        return refusal([&] { data_spec(R"({"type": "shapes", "normalize": )" + form + "}"); });
    };
    const std::string forms =
        "/data/normalize: must be \"standard\", \"unit\" or {\"mean\": [...], \"deviation\": "
        "[...]}";
    CHECK(refused(R"("none")") == forms + " (found \"none\")");
    CHECK(refused("2") == forms + " (found 2)");
    CHECK(refused(R"({"mean": [0.5]})").starts_with("/data/normalize/deviation: "));
    CHECK(refused(R"({"mean": [0.5], "deviation": [0]})")
              .starts_with("/data/normalize/deviation/0: 0 is out of range"));
    CHECK(refused(R"({"mean": [], "deviation": [1]})") ==
          "/data/normalize/mean: is empty: give one number per channel, or one for all");
    const auto two =
        data_spec(R"({"type": "shapes", "normalize": {"mean": [0.5, 0.4], "deviation": [1]}})");
    CHECK(refusal([&] {
              data::load_data(two, {1, 7});
          }) ==
          "/data/normalize/mean: has 2 numbers, but the images have 3 channels: give one number "
          "per channel, or one for all");
}

TEST_CASE("errors name the pointer and the remedy") {
    CHECK(refusal([] { data_spec(R"("cifar")"); }) ==
          "/data/type: unknown data set 'cifar'; did you mean 'cifar10'?");
    CHECK(refusal([] { data_spec(R"({"type": "mnist", "normalise": "unit"})"); }) ==
          "/data/normalise: unknown key; did you mean 'normalize'?");
    CHECK(refusal([] { data_spec(R"({"type": "mnist", "partition": "shufled"})"); }) ==
          "/data/partition/type: unknown partition 'shufled'; did you mean 'shuffled'?");
    CHECK(refusal([] {
              data_spec(R"({"type": "shapes", "root": "/x"})");
          }).starts_with("/data/root: unknown key"));
    CHECK(refusal([] { data_spec(R"({"type": "shapes", "difficulty": 1.5})"); }) ==
          "/data/difficulty: 1.5 is out of range (must be at most 1)");
    CHECK(refusal([] { data_spec(R"({"type": "regression", "augment": true})"); }) ==
          "/data/augment: crops and flips images (regression has no images): leave it false");
    CHECK(refusal([] { data_spec(R"({"type": "regression", "normalize": "unit"})"); }) ==
          "/data/normalize: is for pixels (regression has no images): leave it out");
    CHECK(refusal([] { data_spec(R"({"type": "shapes", "limit": {"train": 0}})"); }) ==
          "/data/limit/train: 0 is out of range (must be at least 1)");
}

TEST_CASE("limit is applied first, then validation is held out from the end") {
    const auto whole =
        data::load_data(data_spec(R"({"type": "shapes", "train": 50, "test": 20})"), {1, 7});
    const auto cut = data::load_data(data_spec(R"({"type": "shapes", "train": 50, "test": 20,
        "limit": {"train": 40, "test": 5}, "validation": 10})"),
                                     {1, 7});
    CHECK(whole.train->size() == 50);
    CHECK(whole.validation == nullptr);
    CHECK(cut.train->size() == 30);
    CHECK(cut.test->size() == 5);
    REQUIRE(cut.validation != nullptr);
    CHECK(cut.validation->size() == 10);
    CHECK(test::input_of(*cut.train, 29) == test::input_of(*whole.train, 29));
    CHECK(test::input_of(*cut.validation, 0) == test::input_of(*whole.train, 30));
    CHECK(cut.validation->label(9) == whole.train->label(39));
    CHECK(test::input_of(*cut.test, 4) == test::input_of(*whole.test, 4));
}

TEST_CASE("limit and validation beyond the data are refused") {
    const auto refused = [](const std::string& keys) {
        const auto spec = data_spec(R"({"type": "shapes", "train": 50, "test": 20, )" + keys + "}");
        return refusal([&] { data::load_data(spec, {1, 7}); });
    };
    CHECK(refused(R"("limit": {"test": 21})") ==
          "/data/limit/test: 21 is more than the 20 samples of the data set: use at most that "
          "many, or null");
    CHECK(refused(R"("limit": {"train": 10}, "validation": 10)") ==
          "/data/validation: holding out 10 of 10 training samples leaves none to train on: "
          "use fewer");
}

TEST_CASE("data_status() has one entry per set") {
    const test::Folder folder;
    const auto all = data::data_status(folder.path());
    REQUIRE(all.size() == data::data_table().size());
    for (const auto& each : all) {
        const bool generated = each.name == "shapes" || each.name == "regression";
        const bool own = each.name == "npz" || each.name == "images" || each.name == "text" ||
                         each.name == "pairs";
        CHECK(each.present == (generated || own));
        CHECK_FALSE(each.detail.empty());
        CHECK(each.detail.find('\n') == std::string::npos);
    }
}
