#include "data/class_coverage.hpp"

#include "catch.hpp"
#include "data/numbers.hpp"
#include "data/support.hpp"

using namespace dbench;
using Catch::Matchers::ContainsSubstring;
using Labels = std::vector<double>;

namespace {

std::shared_ptr<const data::Dataset> labelled(const Labels& labels, int64_t classes) {
    return data::number_set(Labels(labels.size()), {1}, labels, classes);
}

data::DataSets sets_of(const Labels& train, const Labels& test, const Labels& validation = {}) {
    data::DataSets sets;
    const int64_t classes = 4;
    sets.train = labelled(train, classes);
    sets.test = labelled(test, classes);
    if (!validation.empty()) sets.validation = labelled(validation, classes);
    return sets;
}

}  // namespace

TEST_CASE("each set that lacks classes is named with them") {
    CHECK(data::missing_class_warnings(sets_of({0, 1, 2, 3}, {3, 2, 1, 0}), false).empty());

    data::DataSets sets = sets_of({0, 1, 2}, {0, 1, 2, 3}, {3, 3});
    sets.classes = {"ant", "bee", "cat", "dog"};
    const auto said = data::missing_class_warnings(sets, false);
    REQUIRE(said.size() == 2);
    CHECK_THAT(said[0], ContainsSubstring("/data: the training set has no sample of the class dog "
                                          "(1 of 4)"));
    CHECK_THAT(said[1], ContainsSubstring("/data/validation: the validation set has no sample of "
                                          "the classes ant, bee, cat (3 of 4)"));

    const auto test = data::missing_class_warnings(sets_of({0, 1, 2, 3}, {0, 2, 3}), false);
    REQUIRE(test.size() == 1);
    CHECK_THAT(test[0], ContainsSubstring("the test set has no sample of the class 1 (1 of 4)"));
}

TEST_CASE("classes without any sample are named once") {
    const auto from_one = data::missing_class_warnings(sets_of({1, 2, 3}, {3, 2, 1}), false);
    REQUIRE(from_one.size() == 1);
    CHECK_THAT(from_one[0],
               ContainsSubstring("no sample has the class 0") && ContainsSubstring("subtract 1"));
    const auto gap = data::missing_class_warnings(sets_of({0, 2, 3}, {0, 2}), false);
    REQUIRE(gap.size() == 2);
    CHECK_THAT(gap[0],
               ContainsSubstring("no sample has the class 1") && !ContainsSubstring("subtract"));
    CHECK_THAT(gap[1], ContainsSubstring("the test set has no sample of the class 3"));
}

TEST_CASE("of drawn sets, only the training set is looked at") {
    const auto said = data::missing_class_warnings(sets_of({0, 1, 2}, {0, 1}), true);
    REQUIRE(said.size() == 1);
    CHECK_THAT(said[0], ContainsSubstring("the training set has no sample of the class 3"));
}

TEST_CASE("many classes are not all listed, and real targets have none") {
    data::DataSets sets;
    sets.train = labelled({0}, 1000);
    sets.test = labelled({999}, 1000);
    const auto said = data::missing_class_warnings(sets, false);
    CHECK_THAT(said.at(0), ContainsSubstring("19, 20, ... (998 of 1000)"));
    CHECK(said.at(0).size() < 400);
    sets.train = sets.test = labelled({0.5}, 0);
    CHECK(data::missing_class_warnings(sets, false).empty());
}

TEST_CASE("an unknown label is found below the largest known one") {
    CHECK(data::label_not_among({0, 3, 2, 1}, {0, 1, 3}) == 2);
    CHECK(data::label_not_among({5, 4}, {0, 1, 3}) == 4);
    CHECK_FALSE(data::label_not_among({0, 3}, {0, 1, 3}));
    CHECK_FALSE(data::label_not_among({}, {}));
}
