# language: en
# Loans desk of the Wexley town library.
# Sources: interview with the desk, 14 May; the old rules are in rules-2009.doc and must not be used.

@loans
Feature: Lending items
  As a librarian
  I want the computer to apply the lending rules
  So that I do not have to discuss them at the desk

  Background:
    Given the library is open today
    And the following members exist:
      | card | name         | group  | fees  |
      | 1001 | Ada Brook    | adult  | 0.00  |
      | 1002 | Ben Carew    | child  | 0.00  |
      | 1003 | Cleo Dastoor | adult  | 12.40 |

  @smoke @desk
  Scenario: An item is lent to a member
    Given the item "Middlemarch" is on the shelf
    When Ada Brook borrows "Middlemarch"
    Then the item is due in 28 days
    And a receipt with the due date is printed

  Scenario Outline: The number of items at once depends on the group
    Given a member of the group "<group>"
    And the member has <had> items
    When the member borrows another item
    Then the loan is <result>

    Examples: below and at the limit
      | group | had | result  |
      | adult | 19  | granted |
      | adult | 20  | refused |
      | child | 9   | granted |
      | child | 10  | refused |

  # The limit for children used to be 6. Changed on 3 June, do not go back.

  Scenario: Fees of more than ten pounds block loans
    When Cleo Dastoor borrows "Middlemarch"
    Then the loan is refused
    And the screen shows the fees "12.40"

  @children
  Scenario: Films for adults are not lent to children
    Given the film "Night Train" has the rating 15
    When Ben Carew borrows "Night Train"
    Then the loan is refused with the message:
      """
      This film must only be lent to members of 15 and over.
      """

  Rule: Renewals

    Scenario: A loan is renewed twice at most
      Given Ada Brook has renewed "Middlemarch" 2 times
      When she renews it again
      Then the renewal is refused

    Scenario: A reserved item is not renewed
      Given "Middlemarch" is reserved by another member
      When Ada Brook renews it
      Then the renewal is refused
      But the due date stays as it was

    @wontfix
    # Dropped by the council: no renewal by telephone.
    Scenario: A loan is renewed by telephone
      Given Ada Brook calls the number of the library
      When she enters her card number
      Then all her loans are renewed

  Rule: Returns

    Scenario: An item is returned late
      Given "Middlemarch" was due 3 days ago
      When it is returned
      Then fees of 0.60 are added to the member

    Scenario: Returns through the letterbox count as of the evening before
      Given the library was closed yesterday
      When an item is taken out of the letterbox in the morning
      Then it counts as returned at 20:00 of the last open day

    # TODO ask Mrs Hale: do children pay fees at all?
